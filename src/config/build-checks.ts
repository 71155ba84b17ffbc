import { z } from "zod";
import { Secret } from "../core/secret.ts";
import { type CheckRule, hmacAlgorithms, hmacEncodings } from "../core/source.ts";
import { isIpRange } from "../ground/net/ip-ranges.ts";
import { duration, field, listOf, oneOf, readText, text } from "../ground/shape/field.ts";
import { Refusal, referTo } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import type { ConfigPath, ProblemList } from "./shape/problem-list.ts";
import { readShape, refuseKind } from "./shape/read-shape.ts";

export interface CheckContext {
  isReference(path: ConfigPath): boolean;
  problems: ProblemList;
}

const defaultToleranceMs = 5 * 60_000;
const leastSecretLength = 8;
/** Each is tried on every request. */
const mostSecrets = 10;

const secret = listOf(text(referTo("HOOK_SIGNING_SECRET")), referTo("HOOK_SIGNING_SECRET"));
/** Half of the time for which a key is known (`dedupeWindowMs`): what is taken may be as early as it may be old. */
const tolerance = duration("10s", "12h").optional();

function readHeaderName(value: unknown): string | Refusal {
  const text = readText("X-Signature")(value);
  if (text instanceof Refusal || /^[\w!#$%&'*+.^`|~-]+$/.test(text)) return text;
  return new Refusal(`${showValue(text)} is no name of a header`, "write e.g. X-Signature");
}

function readRange(value: unknown): string | Refusal {
  const text = readText("203.0.113.0/24")(value);
  if (text instanceof Refusal || isIpRange(text)) return text;
  return new Refusal(
    `${showValue(text)} is neither an address nor a range`,
    "write e.g. 203.0.113.7 or 203.0.113.0/24",
  );
}

const type = z.unknown();
/** By type; what each has beside it. */
export const checkSchemas = {
  "standard-webhooks": z.strictObject({ type, secret, tolerance }),
  github: z.strictObject({ type, secret }),
  stripe: z.strictObject({ type, secret, tolerance }),
  hmac: z.strictObject({
    type,
    secret,
    header: field(readHeaderName, { type: "string", examples: ["X-Signature"] }),
    algorithm: oneOf(hmacAlgorithms).optional(),
    encoding: oneOf(hmacEncodings).optional(),
    prefix: text("sha256=").optional(),
  }),
  basic: z.strictObject({ type, user: text("tocsin"), password: secret }),
  bearer: z.strictObject({ type, token: secret }),
  addresses: z.strictObject({
    type,
    ranges: listOf(field(readRange, { type: "string", examples: ["203.0.113.0/24"] }), "[203.0.113.0/24]"),
  }),
};
type CheckType = keyof typeof checkSchemas;
const types = Object.keys(checkSchemas) as CheckType[];

/** `check:` of a source, one or a list of them; all are to be passed. */
export function buildChecks(value: unknown, path: ConfigPath, context: CheckContext): CheckRule[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return buildCheck(value, path, context) ?? [];
  if (value.length === 0) context.problems.add(path, "is empty", "write a check, or leave it out");
  return value.flatMap((one, index) => buildCheck(one, [...path, index], context) ?? []);
}

function buildCheck(value: unknown, path: ConfigPath, context: CheckContext): [CheckRule] | undefined {
  const { problems } = context;
  if (typeof value !== "object" || value === null) {
    const example = "write { type: github, secret: … }";
    const { message, instead } = refuseKind("map", "check", value, example);
    problems.add(path, message, instead);
    return undefined;
  }
  const written: unknown = Reflect.get(value, "type");
  const found = types.find((one) => one === written);
  if (found === undefined) {
    const known = typeof written === "string" ? suggestOrList(written, types) : `write one of ${types.join(", ")}`;
    const what = written === undefined ? "is missing" : `${showValue(written)} is not a type of check`;
    problems.add([...path, "type"], what, known);
    return undefined;
  }
  const rule = readRule(found, value, path, context);
  return rule && [rule];
}

function readRule(found: CheckType, value: object, path: ConfigPath, context: CheckContext): CheckRule | undefined {
  const { problems } = context;
  const secretsOf = (name: string, texts: string[]) => readSecrets(found, texts, [...path, name], value, context);
  switch (found) {
    case "standard-webhooks":
    case "stripe": {
      const options = readShape(checkSchemas[found], value, path, problems);
      if (options === undefined) return undefined;
      const { secret: texts, tolerance: toleranceMs = defaultToleranceMs } = options;
      return { type: found, secrets: secretsOf("secret", texts), toleranceMs };
    }
    case "github": {
      const options = readShape(checkSchemas.github, value, path, problems);
      return options && { type: found, secrets: secretsOf("secret", options.secret) };
    }
    case "hmac": {
      const options = readShape(checkSchemas.hmac, value, path, problems);
      if (options === undefined) return undefined;
      const { secret: texts, header, algorithm = "sha256", encoding = "hex", prefix = "" } = options;
      return {
        type: found,
        secrets: secretsOf("secret", texts),
        header: header.toLowerCase(),
        algorithm,
        encoding,
        prefix,
      };
    }
    case "basic": {
      const options = readShape(checkSchemas.basic, value, path, problems);
      if (options?.user.includes(":"))
        problems.add([...path, "user"], "holds a colon, after which the password would begin", "write the user alone");
      return options && { type: found, user: options.user, secrets: secretsOf("password", options.password) };
    }
    case "bearer": {
      const options = readShape(checkSchemas.bearer, value, path, problems);
      return options && { type: found, secrets: secretsOf("token", options.token) };
    }
    case "addresses": {
      const options = readShape(checkSchemas.addresses, value, path, problems);
      return options && { type: found, ranges: options.ranges };
    }
    default:
      return found satisfies never;
  }
}

/** Several while one is being replaced by the next. */
function readSecrets(
  found: CheckType,
  texts: string[],
  path: ConfigPath,
  owner: object,
  { isReference, problems }: CheckContext,
): Secret[] {
  const isList = Array.isArray(Reflect.get(owner, String(path.at(-1))));
  if (texts.length > mostSecrets) problems.add(path, `has ${texts.length} secrets, and ${mostSecrets} are the most`);
  return texts.flatMap((text, index) => {
    const at = isList ? [...path, index] : path;
    if (!isReference(at)) {
      const instead = `write ${referTo("HOOK_SIGNING_SECRET")} and set that environment variable`;
      problems.add(at, "is secret and does not belong in the file", instead);
      return [];
    }
    if (found === "bearer" && !/^[\x21-\x7e]+$/.test(text)) {
      const message = "holds a space or a character that no such header carries";
      problems.add(at, message, "write the token alone, without Bearer");
    } else if (found === "standard-webhooks" && !/^(?:whsec_)?[A-Za-z0-9+/]{22,100}={0,2}$/.test(text)) {
      problems.add(
        at,
        "is no secret of Standard Webhooks",
        "write whsec_ and 24 to 64 bytes in base64, as the sender shows it",
      );
    } else if (text.length < leastSecretLength) {
      const message = `has ${text.length} characters; ${leastSecretLength} are the least`;
      problems.add(at, message, "take a longer one, at the sender as well");
    }
    return [new Secret(text)];
  });
}
