import { z } from "zod";
import { readySenderOf } from "../core/ready-senders.ts";
import type { Secret } from "../core/secret.ts";
import { accountHook, type CheckRule, isSourceName, type KeyPlace, signsMessage } from "../core/source.ts";
import {
  acrossOptions,
  field,
  httpUrl,
  listOf,
  optional,
  readText,
  refuseAt,
  secretly,
} from "../ground/shape/field.ts";
import { Refusal, referTo } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { readKeyPath } from "../matching/path.ts";
import { checksSchema } from "./checks.ts";
import type { Config, SourceSettings } from "./config.ts";
import { howToMakeToken, judgeStrength } from "./generated-secrets.ts";
import { adviseOnPath, mappingSchema, silenceSetting } from "./sections.ts";
import type { ConfigPath, ProblemList } from "./shape/problem-list.ts";
import { mapEntries, readShape } from "./shape/read-shape.ts";
import type { UpstreamAccess } from "./upstream-env.ts";
import { readHookSecret, readKey } from "./variables.ts";

/** The first secret is in the address. The others are accepted while senders move to it. */
const mostSecrets = 5;

export const sourceSchema = z
  .strictObject({
    secret: optional(
      listOf(secretly(field(readHookSecret, { type: "string" })), referTo("GITHUB_HOOK_SECRET")),
      `the secret part of its address, a \`${referTo("VAR")}\` reference of at least 22 letters, digits, \`-\` and \`_\`; ` +
        "a list of up to 5 while it is changed, each is taken",
      "made, and kept in `DATA_DIR/secrets/source-NAME`, or in the database of `DATABASE_URL`",
    ),
    check: optional(
      checksSchema,
      "what else its sender has to prove, see [below](#check)",
      "knowing the address is enough",
    ),
    account: optional(
      z.strictObject({
        url: httpUrl.describe("the base address of the alerting interface"),
        apiKey: secretly(field(readKey, {})),
      }),
      "another account of the service that sends here: `url` and `apiKey`, see [below](#account-of-a-source)",
    ),
    idempotency: optional(
      listOf(field(readKeyPlace, { type: "string" }), "payload.eventId or header:X-Event-Id"),
      "where this sender keeps its key of an event: `payload.delivery.id`, " +
        "`header:X-Event-Id`, or a list; before [`intake`](configuration.md#intake)",
      "as for all",
    ),
    mapping: optional(mappingSchema, "as in [routing.md](routing.md#mapping), before that one", "as for all"),
    silence: optional(silenceSetting, "as in [configuration.md](configuration.md#silence), for this hook", "`off`"),
  })
  .check(
    acrossOptions((context, isRefused) => {
      const { secret = [], account, check = [] } = context.value;
      if (secret.length > mostSecrets) {
        const message = `has ${secret.length} secrets, and ${mostSecrets} are the most`;
        refuseAt(context, ["secret"], message, "remove those that nobody uses");
      }
      if (account === undefined || isRefused("check")) return;
      const signs = check.find(({ type }) => type !== "addresses");
      if (signs !== undefined) {
        const message = `asks for what the service does not send (${signs.type}), so every alert of the account would be refused`;
        refuseAt(context, ["check"], message, "leave check out, or check the addresses", "key");
      }
    }),
  );

/** `header:X-Event-Id` or `payload.eventId`. */
function readKeyPlace(value: unknown): KeyPlace | Refusal {
  const text = readText("payload.eventId")(value);
  if (text instanceof Refusal) return text;
  const [, header] = /^header:\s*(\S*)$/i.exec(text) ?? [];
  if (header !== undefined) {
    if (/^[\w!#$%&'*+.^`|~-]+$/.test(header)) return { header: header.toLowerCase() };
    return new Refusal(`${showValue(text)} names no header`, "write e.g. header:X-Event-Id");
  }
  if (readKeyPath(text) !== undefined) return { path: text };
  const message = `${showValue(text)} is neither a path to one value of the body nor a header`;
  return new Refusal(message, `${adviseOnPath(text)}, or e.g. header:X-Event-Id`);
}

/** Each source is compared with every requested path, so the time of an answer reveals nothing. */
const maxSources = 50;

export interface SourcesContext {
  server: Pick<Config["server"], "isPublic">;
  /** Secrets that guard other things. */
  otherSecrets: (Secret | undefined)[];
  alerting?: UpstreamAccess;
  problems: ProblemList;
}

export function buildSources(value: unknown, context: SourcesContext): SourceSettings[] {
  const { problems } = context;
  const entries = mapEntries(value ?? {}, "sources", "source", problems);
  if (entries.length > maxSources) {
    const message = `has ${entries.length} sources, and ${maxSources} are the most`;
    problems.add(["sources"], message, "let senders that need no check of their own share one", "key");
  }
  const sources = entries.flatMap(([name, one]) => buildSource(name, one, context) ?? []);
  refuseSharedSecrets(sources, context);
  return sources;
}

function buildSource(name: string, value: unknown, context: SourcesContext): SourceSettings | undefined {
  const { problems } = context;
  const path = ["sources", name];
  if (!isSourceName(name) || name === accountHook) {
    const message = name === accountHook ? "is the account's own hook" : "is not a name for a source";
    problems.add(path, message, "use up to 40 small letters, digits, - and _, a letter or digit first", "key");
  }
  const options = readShape(sourceSchema, value ?? {}, path, problems);
  if (options === undefined) return undefined;
  const { secret = [], mapping = {}, check = [], account, silence } = options;
  // Known senders keep the id of an event in a known place.
  const eventIds = check.flatMap(({ type }) => readySenderOf(type)?.eventId ?? []);
  const { idempotency = eventIds.map((path) => ({ path })) } = options;
  if (mapping.source !== undefined) {
    const message = `cannot be used in a source: what arrives at this hook is called ${name}`;
    problems.add([...path, "mapping", "source"], message, "remove it", "key");
  }
  const isList = Array.isArray(Reflect.get(Object(value), "secret"));
  for (const [index, one] of secret.entries()) {
    const at = [...path, "secret", ...(isList ? [index] : [])];
    judgeStrength(
      one,
      context.server,
      (message, instead) => problems.add(at, message, instead),
      (message, instead) => problems.warn(problems.whereIs(at), message, instead),
    );
  }
  warnOfUnsignedKeys(idempotency, check, [...path, "idempotency"], problems);
  if (account !== undefined) refuseSameAccount(account, [...path, "account", "apiKey"], context);
  const [own, ...formerSecrets] = secret;
  return {
    name,
    ...(own && { secret: own }),
    formerSecrets,
    keyPlaces: idempotency,
    mapping,
    checks: check,
    ...(account && { account }),
    ...(silence !== undefined && { silence }),
    definedAt: problems.whereIs(path),
  };
}

/** Warns of keys outside of the signed part: anybody who repeats a request could change an unsigned header. */
function warnOfUnsignedKeys(places: KeyPlace[], checks: CheckRule[], path: ConfigPath, problems: ProblemList): void {
  const signs = checks.find(signsMessage);
  const header = places.find((place) => "header" in place);
  if (signs === undefined || header === undefined) return;
  const message = `header:${header.header} is not signed by ${signs.type}, so it is not looked at`;
  problems.warn(problems.whereIs(path), message, "name a place of the body, or leave it out");
}

/** Refuses the account of the environment as a second account, since an account has one webhook address. */
function refuseSameAccount(
  { url, apiKey }: UpstreamAccess,
  at: ConfigPath,
  { alerting, problems }: SourcesContext,
): void {
  if (alerting?.apiKey.reveal() === apiKey.reveal() && alerting.url === url) {
    const message = "opens the account of ALERTING_API_KEY, which has one address and sends to the account's own hook";
    problems.add(at, message, "remove this account, or set the key of another one");
  }
}

/** The secret alone identifies the sender of a request. */
function refuseSharedSecrets(sources: SourceSettings[], { otherSecrets, problems }: SourcesContext): void {
  const known = new Set(otherSecrets.flatMap((secret) => secret?.reveal() ?? []));
  for (const { name, secret, formerSecrets } of sources) {
    for (const one of secret === undefined ? [] : [secret, ...formerSecrets]) {
      if (known.has(one.reveal())) {
        const message = "is the same as another secret of this relay, so their senders could not be told apart";
        problems.add(["sources", name, "secret"], message, howToMakeToken);
      }
      known.add(one.reveal());
    }
  }
}
