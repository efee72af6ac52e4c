#!/usr/bin/env node
import { runShardctl } from './run-shardctl.js';

const code = await runShardctl(process.argv.slice(2));
if (code !== 0) process.exitCode = code;
