import { z } from "zod";
import { type ReadySender, type ReadySenderName, readySenders } from "../core/ready-senders.ts";
import { Secret } from "../core/secret.ts";
import { parseSignedText } from "../core/signed-text.ts";
import { type CheckRule, type HmacOptions, hmacAlgorithms, hmacEncodings } from "../core/source.ts";
import { isIpRange } from "../ground/net/ip-ranges.ts";
import {
  acrossOptions,
  duration,
  field,
  listOf,
  oneOf,
  readText,
  refuseAt,
  secretly,
  text,
  textLike,
} from "../ground/shape/field.ts";
import { Refusal, referTo } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";

/** Each secret is tried on every request. */
const mostSecrets = 10;
const leastSecretLength = 8;
/** How early or late a signed time may be. At most half of `dedupeWindowMs`, for which a key is known. */
const givenTolerance = duration("10s", "12h").describe("how old or early a signed time may be");
const toleranceOr = (otherwise = "5m") => givenTolerance.prefault(otherwise);
const tolerance = toleranceOr();

/** Several secrets, while a new one replaces an old one. */
function secrets(judge: (text: string) => Refusal | undefined = judgeLength) {
  const example = referTo("HOOK_SIGNING_SECRET");
  const read = (value: unknown): Secret | Refusal => {
    const text = readText(example)(value);
    return text instanceof Refusal ? text : (judge(text) ?? new Secret(text));
  };
  return listOf(secretly(field(read, {})), example).check((context) => {
    const { length } = context.value;
    if (length > mostSecrets) refuseAt(context, [], `has ${length} secrets, and ${mostSecrets} are the most`);
  });
}

function judgeLength({ length }: string): Refusal | undefined {
  if (length >= leastSecretLength) return undefined;
  const message = `has ${length} characters; ${leastSecretLength} are the least`;
  return new Refusal(message, "take a longer one, at the sender as well");
}

function judgeToken(text: string): Refusal | undefined {
  if (/^[\x21-\x7e]+$/.test(text)) return judgeLength(text);
  const message = "holds a space or a character that no such header carries";
  return new Refusal(message, "write the token alone, without Bearer");
}

function judgeStandardSecret(text: string): Refusal | undefined {
  if (/^(?:whsec_)?[A-Za-z0-9+/]{22,100}={0,2}$/.test(text)) return undefined;
  const instead = "write whsec_ and 24 to 64 bytes in base64, as the sender shows it";
  return new Refusal("is no secret of Standard Webhooks", instead);
}

function readHeaderName(value: unknown): string | Refusal {
  const text = readText("X-Signature")(value);
  if (text instanceof Refusal || /^[\w!#$%&'*+.^`|~-]+$/.test(text)) return text;
  return new Refusal(`${showValue(text)} is no name of a header`, "write e.g. X-Signature");
}

function readSigned(value: unknown): string | Refusal {
  const text = readText("{header:X-Nonce}{body}")(value);
  if (text instanceof Refusal) return text;
  const parts = parseSignedText(text);
  return typeof parts === "string" ? new Refusal(parts, "write e.g. {header:X-Nonce}{body}") : text;
}

function readUser(value: unknown): string | Refusal {
  const text = readText("tocsin")(value);
  if (text instanceof Refusal || !text.includes(":")) return text;
  return new Refusal("holds a colon, after which the password would begin", "write the user alone");
}

function readRange(value: unknown): string | Refusal {
  const text = readText("203.0.113.0/24")(value);
  if (text instanceof Refusal || isIpRange(text)) return text;
  const message = `${showValue(text)} is neither an address nor a range`;
  return new Refusal(message, "write e.g. 203.0.113.7 or 203.0.113.0/24");
}

function toHmacRule(
  type: "hmac" | ReadySenderName,
  secrets: Secret[],
  { header, algorithm = "sha256", encoding = "hex", prefix = "", signs = "{body}", time }: HmacOptions,
  toleranceMs: number,
): CheckRule {
  const parts = parseSignedText(signs);
  if (typeof parts === "string") throw new Error(`${type} signs what ${parts}`);
  return {
    type,
    secrets,
    header: header.toLowerCase(),
    algorithm,
    encoding,
    prefix,
    signs: parts,
    ...(time !== undefined && { time: { header: time.toLowerCase(), toleranceMs } }),
  };
}

function schemaOfReady(name: ReadySenderName) {
  const ready: ReadySender = readySenders[name];
  const type = z.literal(name);
  if (ready.time === undefined)
    return z
      .strictObject({ type, secret: secrets() })
      .transform(({ secret }): CheckRule => toHmacRule(name, secret, ready, 0));
  return z
    .strictObject({ type, secret: secrets(), tolerance: toleranceOr(ready.tolerance) })
    .transform(({ secret, tolerance }): CheckRule => toHmacRule(name, secret, ready, tolerance));
}

export const checkSchema = z
  .discriminatedUnion("type", [
    z
      .strictObject({ type: z.literal("standard-webhooks"), secret: secrets(judgeStandardSecret), tolerance })
      .transform(({ type, secret, tolerance }): CheckRule => ({ type, secrets: secret, toleranceMs: tolerance })),
    z
      .strictObject({ type: z.literal("stripe"), secret: secrets(), tolerance })
      .transform(({ type, secret, tolerance }): CheckRule => ({ type, secrets: secret, toleranceMs: tolerance })),
    z
      .strictObject({
        type: z.literal("hmac"),
        secret: secrets(),
        header: field(readHeaderName, textLike("[\\w!#$%&'*+.^`|~-]+")),
        algorithm: oneOf(hmacAlgorithms).optional(),
        encoding: oneOf(hmacEncodings).optional(),
        prefix: text("sha256=").optional(),
        signs: field(readSigned, { type: "string", examples: ["{header:X-Nonce}{header:X-Time}{body}"] }).optional(),
        time: field(readHeaderName, { type: "string", examples: ["X-Time"] }).optional(),
        tolerance: givenTolerance.optional(),
      })
      .check(
        acrossOptions((context, isRefused) => {
          const { signs = "", header = "", time, tolerance } = context.value;
          if (signs.toLowerCase().includes(`{header:${header.toLowerCase()}}`)) {
            const message = `signs ${header}, which holds the signature itself and so cannot be a part of it`;
            refuseAt(context, ["signs"], message, "leave that header out");
          }
          const isSigned = isRefused("signs") || signs.toLowerCase().includes(`{header:${time?.toLowerCase()}}`);
          if (time !== undefined && !isSigned) {
            const instead = `add {header:${time}} to signs where the sender signs it, or leave time out`;
            refuseAt(context, ["time"], "is not among what is signed, so anybody could change it", instead);
          }
          if (time === undefined && !isRefused("time") && tolerance !== undefined)
            refuseAt(context, ["tolerance"], "needs the header that has the time", "add time: X-Timestamp");
        }),
      )
      .transform(({ type, secret, tolerance = 300_000, ...options }) => toHmacRule(type, secret, options, tolerance)),
    z
      .strictObject({ type: z.literal("basic"), user: field(readUser, { type: "string" }), password: secrets() })
      .transform(({ type, user, password }): CheckRule => ({ type, user, secrets: password })),
    z
      .strictObject({ type: z.literal("bearer"), token: secrets(judgeToken) })
      .transform(({ type, token }): CheckRule => ({ type, secrets: token })),
    z.strictObject({
      type: z.literal("addresses"),
      ranges: listOf(field(readRange, { type: "string", examples: ["203.0.113.0/24"] }), "[203.0.113.0/24]"),
    }) satisfies z.ZodType<CheckRule>,
    ...(Object.keys(readySenders) as ReadySenderName[]).map(schemaOfReady),
  ])
  .meta({ kind: "check" });

/** One check, or several that a request must all pass. */
export const checksSchema = z.union([
  checkSchema.transform((rule) => [rule]),
  z
    .array(checkSchema)
    .check((context) => {
      if (context.value.length === 0) refuseAt(context, [], "is empty", "write a check, or leave it out");
    })
    .meta({ minItems: 1 }),
]);
