/** The command line, compiled together with the benchmarks: it is run as a process of its own. */
import '../../../apps/shardctl/src/main.js';
