import { createHash } from "node:crypto";
import { groupThousands } from "../ground/numbers/format-number.ts";
import { countOf } from "../ground/text/count-of.ts";

export interface ArrivedBody {
  bytes: number;
  /** base64url. */
  sha256: string;
  /** The Content-Encoding that a proxy on the way has added. */
  encoding?: string;
}

/** How an arrived body differs from the sent one, as the end of a sentence about an alert. Undefined when both are the same. */
export function describeArrival(sent: Uint8Array, { bytes, sha256, encoding }: ArrivedBody): string | undefined {
  const sizes = `${countOf(sent.byteLength, "byte")} sent, ${groupThousands(bytes)} arrived`;
  if (encoding !== undefined) return `arrives compressed (${encoding}): ${sizes}`;
  if (hashBody(sent) === sha256) return undefined;
  if (bytes === 0) return `arrives without its body: ${sizes}`;
  if (bytes === sent.byteLength) return `arrives with another body: ${sizes}, and they are not the same`;
  if (hashBody(sent.subarray(0, bytes)) === sha256) return `arrives cut off: ${sizes}`;
  return `arrives with another body: ${sizes}`;
}

export function hashBody(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("base64url");
}
