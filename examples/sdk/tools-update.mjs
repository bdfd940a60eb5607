// Tools that come and go: two more while a sheet is open. The call that opens it is answered once they are
// there, so that the model finds them at its next step.

import { provider } from "copilot-tap/provider";

const tap = provider("sheets");

async function open() {
  await Promise.all([
    tap.tool("sum_sheet", { description: "The sum of the open spreadsheet." }, () => 42),
    tap.tool("close_sheet", { description: "Closes the spreadsheet." }, close),
  ]);
  return "the sheet is open";
}

async function close() {
  await Promise.all([tap.removeTool("sum_sheet"), tap.removeTool("close_sheet")]);
  return "the sheet is closed";
}

tap.tool("open_sheet", { description: "Opens the spreadsheet." }, open);
await tap.connect();
