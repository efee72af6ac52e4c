#!/usr/bin/env node
import { runShardctl } from './run-shardctl.js';

process.exitCode = await runShardctl(process.argv.slice(2));
