// For `node --import`: writes to the file TRACE_TO what the process loads, one address a line, and `listening` where it
// begins to listen, so that a test says what a start waits for without a clock.
import { appendFileSync } from "node:fs";
import { register } from "node:module";
import { Server } from "node:net";

const file = process.env.TRACE_TO;
const loader = `
  import { appendFileSync } from "node:fs";
  export async function load(url, context, next) {
    appendFileSync(${JSON.stringify(file)}, url + "\\n");
    return next(url, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(loader)}`);

const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  appendFileSync(file, "listening\n");
  return listen.apply(this, args);
};
