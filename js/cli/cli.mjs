#!/usr/bin/env node
// The `copilot-tap` command, as PATH has it. Its first file: it links nothing that an old Node.js lacks.

import "../lib/require-node.mjs";

void import("./main.mjs").then(({ runProgram }) => runProgram(process.argv.slice(2)));
