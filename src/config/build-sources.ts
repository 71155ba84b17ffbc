import { Secret } from "../core/secret.ts";
import { accountHook, type CheckRule, isSourceName, type KeyPlace } from "../core/source.ts";
import { referTo } from "../ground/shape/refusal.ts";
import { buildChecks } from "./build-checks.ts";
import { buildMapping } from "./build-sections.ts";
import type { ServerSettings, SourceSettings } from "./config.ts";
import { findTokenWeakness, howToMakeToken, leastTokenLength } from "./generated-secrets.ts";
import { sourceSchema } from "./schema.ts";
import type { ConfigPath, ProblemList } from "./shape/problem-list.ts";
import { readShape, refuseKind } from "./shape/read-shape.ts";
import type { UpstreamAccess } from "./upstream-env.ts";

/** Each is compared with every path that is asked for, so that its time tells nothing. */
const maxSources = 50;

export interface SourcesContext {
  server: Pick<ServerSettings, "isPublic">;
  /** Those that guard something else. */
  otherSecrets: (Secret | undefined)[];
  /** The account of the environment. */
  alerting?: UpstreamAccess;
  isReference(path: ConfigPath): boolean;
  problems: ProblemList;
}

/** The section `sources:`, by name, in the order of the file. */
export function buildSources(value: unknown, context: SourcesContext): SourceSettings[] {
  const { problems } = context;
  if (value === undefined || value === null) return [];
  if (typeof value !== "object" || Array.isArray(value)) {
    const example = "write a map: a name, a colon, and below it the source";
    const { message, instead } = refuseKind("map", "sources", value, example);
    problems.add(["sources"], message, instead);
    return [];
  }
  const entries = Object.entries(value);
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
  const mapping = buildMapping(Reflect.get(Object(value), "mapping") ?? {}, problems, [...path, "mapping"]);
  if (mapping.source !== undefined) {
    const message = `cannot be used in a source: what arrives at this hook is called ${name}`;
    problems.add([...path, "mapping", "source"], message, "remove it", "key");
  }
  if (options === undefined) return undefined;
  const { idempotency = [], check, account, silence } = options;
  const [secret, ...formerSecrets] = readHookSecrets(
    options.secret,
    Reflect.get(Object(value), "secret"),
    path,
    context,
  );
  const checks = buildChecks(check, [...path, "check"], context);
  warnOfUnsignedKeys(idempotency, checks, [...path, "idempotency"], problems);
  return {
    name,
    ...(secret !== undefined && { secret }),
    formerSecrets,
    keyPlaces: idempotency,
    mapping,
    checks,
    ...(account && buildAccount(account, checks, path, context)),
    ...(silence !== undefined && { silence }),
    definedAt: problems.whereIs(path),
  };
}

/** What was signed says which message it is; a header beside it anybody could change who repeats the request. */
function warnOfUnsignedKeys(places: KeyPlace[], checks: CheckRule[], path: ConfigPath, problems: ProblemList): void {
  const signs = checks.find(({ type }) => type === "standard-webhooks" || type === "stripe");
  const header = places.find((place) => "header" in place);
  if (signs === undefined || header === undefined) return;
  const message = `header:${header.header} is not signed by ${signs.type}, so it is not looked at`;
  problems.warn(problems.whereIs(path), message, "name a place of the body, or leave it out");
}

/** A second account of the service: another one than that of the environment, since an account has one address. */
function buildAccount(
  { url, apiKey }: { url: string; apiKey: string },
  checks: CheckRule[],
  path: ConfigPath,
  { alerting, isReference, problems }: SourcesContext,
): Pick<SourceSettings, "account"> {
  const at = [...path, "account", "apiKey"];
  if (!isReference(at.map(String))) {
    const instead = `write ${referTo("OTHER_API_KEY")} and set that environment variable`;
    problems.add(at, "is secret and does not belong in the file", instead);
    return {};
  }
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    const message = "holds a space, a line break or a character that no key has";
    problems.add(at, message, "copy the key again, without quotes and line breaks");
  }
  if (alerting?.apiKey.reveal() === apiKey && alerting.url === url) {
    const message = "opens the account of ALERTING_API_KEY, which has one address and sends to the account's own hook";
    problems.add(at, message, "remove this account, or set the key of another one");
  }
  const signs = checks.find(({ type }) => type !== "addresses");
  if (signs !== undefined) {
    const message = `asks for what the service does not send (${signs.type}), so every alert of the account would be refused`;
    problems.add([...path, "check"], message, "leave check out, or check the addresses", "key");
  }
  return { account: { url, apiKey: new Secret(apiKey) } };
}

/** The first is that of its address; the others are taken while senders get to know it. */
const mostSecrets = 5;

function readHookSecrets(texts: string[] = [], written: unknown, path: ConfigPath, context: SourcesContext): Secret[] {
  const at = [...path, "secret"];
  if (texts.length > mostSecrets) {
    context.problems.add(
      at,
      `has ${texts.length} secrets, and ${mostSecrets} are the most`,
      "remove those that nobody uses",
    );
  }
  return texts.flatMap((text, index) =>
    judgeSecret(text, Array.isArray(written) ? [...at, index] : at, context) ? [new Secret(text)] : [],
  );
}

/** As `WEBHOOK_SECRET` is judged. */
function judgeSecret(secret: string, path: ConfigPath, { server, isReference, problems }: SourcesContext): boolean {
  if (!isReference(path)) {
    const instead = `write ${referTo("HOOK_SECRET")} and set that environment variable, or leave it out: then one is made and kept`;
    problems.add(path, "is secret and does not belong in the file", instead);
    return false;
  }
  if (!/^[A-Za-z0-9_-]{1,256}$/.test(secret)) {
    const message = `is part of an address, so it may only have letters, digits, - and _, ${leastTokenLength} to 256 of them`;
    problems.add(path, message, howToMakeToken);
    return false;
  }
  const weakness = findTokenWeakness(secret);
  if (weakness === undefined) return true;
  if (server.isPublic) problems.add(path, `${weakness}, and others can reach this server`, howToMakeToken);
  else {
    const message = `${weakness}; it is taken only because nobody else can reach this server`;
    problems.warn(problems.whereIs(path), message, howToMakeToken);
  }
  return true;
}

/** Whose request it is, is told by the secret alone. */
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
