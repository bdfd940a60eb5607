// The MCP host: a process of its own for all MCP servers, so that their messages can delay neither a call of a
// provider nor a gate.

import { runHost } from "../feature-host/process.mjs";
import { McpHost } from "./host.mjs";

runHost((log) => new McpHost(log), "the MCP host");
