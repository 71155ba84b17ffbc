// For `node --import`: writes to the file TRACE_TO what the process loads, one path a line, and `listening` where it
// begins to listen, so that a test says what a start waits for without a clock.
import fs, { appendFileSync } from "node:fs";
import { Server } from "node:net";

const file = process.env.TRACE_TO;

const { readFileSync } = fs;
fs.readFileSync = (path, ...options) => {
  if (typeof path === "string" && path.endsWith(".js")) appendFileSync(file, `${path}\n`);
  return readFileSync(path, ...options);
};

const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  appendFileSync(file, "listening\n");
  return listen.apply(this, args);
};
