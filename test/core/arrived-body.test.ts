import { describe, expect, it } from "vitest";
import { describeArrival, hashBody } from "../../src/core/arrived-body.ts";

const sent = Buffer.from("Prüfung 探針 ".repeat(100));
const markOf = (body: Uint8Array) => ({ bytes: body.length, sha256: hashBody(body) });

const latin = Buffer.from(sent.toString("utf8"), "latin1");
const changed = Buffer.from(sent.map((byte, at) => (at === 700 ? byte ^ 1 : byte)));
const another = "arrives with another body";

describe("a body that arrived", () => {
  it.each([
    ["as it was sent", sent, undefined],
    ["without its content", Buffer.alloc(0), "arrives without its body: 1,600 bytes sent, 0 arrived"],
    ["cut off", sent.subarray(0, 750), "arrives cut off: 1,600 bytes sent, 750 arrived"],
    ["replaced", Buffer.from("{}"), "arrives with another body: 1,600 bytes sent, 2 arrived"],
    ["in other letters", latin, "arrives with another body: 1,600 bytes sent, 1,100 arrived"],
    ["with one letter changed", changed, `${another}: 1,600 bytes sent, 1,600 arrived, and they are not the same`],
  ])("%s", (_name, arrived, words) => {
    expect(describeArrival(sent, markOf(arrived))).toBe(words);
  });

  it("is compressed where something has said so", () => {
    const words = "arrives compressed (gzip): 1,600 bytes sent, 40 arrived";
    expect(describeArrival(sent, { bytes: 40, sha256: "", encoding: "gzip" })).toBe(words);
  });
});
