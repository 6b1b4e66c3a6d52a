// Evaluates functions over modules of normviz/web for node.py: a line in, a line out.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.argv[2]}/`);
const { unpackMessage } = await import(new URL("data.js", folder));

/** Write as JSON, typed arrays as lists, and numbers that JSON does not have under their name. */
const spell = (found) =>
  JSON.stringify(found, (_, value) => {
    if (ArrayBuffer.isView(value)) return Array.from(value);
    return typeof value === "number" && !Number.isFinite(value) ? { number: String(value) } : value;
  });

async function answer(line) {
  const [modules, source, packed] = JSON.parse(line);
  try {
    const names = {};
    for (const name of modules) Object.assign(names, await import(new URL(`${name}.js`, folder)));
    const found = new Function(`return ${source}`)()(names, ...unpackMessage(Buffer.from(packed, "base64")));
    return spell({ found: found ?? null });
  } catch (error) {
    return spell({ error: error.stack });
  }
}

for await (const line of createInterface({ input: process.stdin })) process.stdout.write(`${await answer(line)}\n`);
