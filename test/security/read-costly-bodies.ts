import { readRequest } from "../../src/intake/read/read-request.ts";
import { translateRequest } from "../../src/intake/translate.ts";
import { costlyBodies } from "./costly-bodies.ts";

/** A process of its own, whose heap the test bounds: reads every body, and says so at the end. */
for (const { what, body, contentType } of costlyBodies) {
  const bytes = Buffer.from(body as string);
  const count = translateRequest(bytes, contentType).length;
  if (count !== readRequest(bytes, contentType).countAlerts()) throw new Error(`${what}: ${count} alerts`);
}
process.stdout.write(`read ${costlyBodies.length}`);
