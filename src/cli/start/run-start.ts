import type { Config } from "../../config/config.ts";
import type { ServerSecrets } from "../../config/generated-secrets.ts";
import { loadConfig } from "../../config/load-config.ts";
import { AppError } from "../../core/errors.ts";
import type { Relay } from "../../start/relay.ts";
import { formatOutcomes, hasReached } from "../alerts/outcomes.ts";
import { checkDestination } from "../doctor/check-destinations.ts";
import { formatFinding } from "../doctor/run-doctor.ts";
import type { RelayRun } from "../relay/connect-relay.ts";
import { createRelayClient } from "../relay/relay-client.ts";
import { runOwnRelay } from "../relay/run-own-relay.ts";
import { type CliContext, untilAborted, writeText } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { type DirectTest, testDestinations, toTests } from "../test/direct-test.ts";
import { chooseMail, userOf } from "./choose-mail.ts";
import { type Choice, chooseTelegram } from "./choose-telegram.ts";
import { type EnvFileChange, planEnvFile, writeEnvFile } from "./env-file.ts";
import { openPrompts, type Prompts } from "./prompts.ts";
import type { StartOptions } from "./start.ts";

const testTimeoutMs = 60_000;

/**
 * Asks for a way to people, proves it with a test of the relay that then serves, and only then writes `.env`. Whatever
 * ends it before leaves `.env` as it was.
 */
export async function runStart(options: StartOptions, context: CliContext, output: Output): Promise<void> {
  const prompts = await openPrompts(context, "Stopped; .env is as it was.");
  if (prompts === undefined && !options.yes) {
    throw new AppError("usage", "nobody is there to be asked before .env is written, so this needs --yes", {
      hint: "see: tocsin start --help",
    });
  }
  const choice = await chooseUntilItWorks(options, context, output, prompts);
  // What cannot be written is said before anything is sent.
  await planEnvFile(context.cwd, choice.values);
  const env = { ...context.env, ...choice.values };
  // It serves afterwards, so the test goes the real way and stands in its log.
  const { relay, config, secrets } = await runOwnRelay({ ...context, env });
  try {
    const tests = await sendTests({ context, output, flags: {} }, relay, secrets, choice.destinations);
    const change = await planEnvFile(context.cwd, choice.values);
    await warn(choice, change, config, context, output);
    const rows = describeChange(change, choice.values);
    await showChange(context, output, rows);
    if (!change.isSame) {
      if (!options.yes && !(await prompts?.confirm("Write this to .env?"))) throw stopped();
      context.signal.throwIfAborted();
      await writeEnvFile(change);
    }
    await report({ options, context, output }, { relay, secrets, config, change, tests, rows });
    if (options.serve) await untilAborted(context.signal);
  } finally {
    await relay.stop();
  }
}

function stopped(): AppError {
  return new AppError("cancelled", "Stopped; .env is as it was.");
}

/** Somebody who can be asked gets another try where a server or a chat refuses. */
async function chooseUntilItWorks(
  options: StartOptions,
  context: CliContext,
  output: Output,
  prompts: Prompts | undefined,
): Promise<Choice> {
  const way = await chooseWay(options, prompts);
  for (let env = context.env; ; env = withoutLogin(context.env)) {
    const run = { context: { ...context, env }, output, prompts, options };
    const choice = way === "mail" ? await chooseMail(run) : await chooseTelegram(run);
    const config = loadConfig({ env: { ...context.env, ...choice.values }, cwd: context.cwd });
    const problems = [];
    for (const destination of config.rules.destinations.filter(({ name }) => choice.destinations.includes(name))) {
      await output.progress.update(`asking ${destination.name} whether it would take messages`);
      problems.push(...(await checkDestination({ context, output, flags: {} }, destination)));
    }
    await output.progress.clear();
    const wrong = problems.filter(({ verdict }) => verdict === "problem");
    const [first] = wrong;
    if (first === undefined) return choice;
    if (prompts === undefined) {
      const hint = [first.mend, ".env is as it was"].filter((part) => part !== undefined).join("; ");
      throw new AppError("failed", `${first.check}: ${first.detail}`, { hint });
    }
    for (const finding of wrong) await writeText(context.stderr, formatFinding(finding, output));
    if (!(await prompts.confirm("Try again, with other values?"))) throw stopped();
  }
}

/** So that what was refused is asked for anew. */
function withoutLogin(env: CliContext["env"]): CliContext["env"] {
  return { ...env, TELEGRAM_BOT_TOKEN: undefined, SMTP_URL: undefined, EMAIL_FROM: undefined };
}

async function chooseWay(options: StartOptions, prompts: Prompts | undefined): Promise<"telegram" | "mail"> {
  const { telegram, mail, chat, to, from } = options;
  const isTelegram = telegram || chat !== undefined;
  const isMail = mail || to !== undefined || from !== undefined;
  if (isTelegram && isMail) {
    throw new AppError("usage", "a chat and mailboxes are set up one after the other", {
      hint: "run it once with --telegram, and once more with --mail",
    });
  }
  if (isMail) return "mail";
  if (isTelegram || prompts === undefined) return "telegram";
  return prompts.select("How shall alerts reach you?", [
    { value: "telegram", label: "Telegram: a bot writes to a group or channel (two minutes, free)" },
    { value: "mail", label: "Mail: by a mail server that you have a login for" },
  ]);
}

/** @throws AppError `failed` unless each has it. */
async function sendTests(
  run: RelayRun,
  relay: Relay,
  secrets: ServerSecrets,
  destinations: string[],
): Promise<DirectTest[]> {
  const { context, output } = run;
  const token = { secret: secrets.adminToken, from: "this relay" };
  const client = await createRelayClient({ url: relay.localUrl, token, signal: context.signal });
  const options = { to: destinations, severity: "info" as const, timeout: testTimeoutMs };
  const tests = await testDestinations(run, client, options);
  await output.progress.clear();
  const deliveries = tests.flatMap((test) => test.deliveries);
  if (!output.json) await writeText(context.stderr, `${formatOutcomes(deliveries, output, context.now())}\n`);
  const missed = deliveries.find((delivery) => !hasReached(delivery));
  if (missed === undefined && deliveries.length > 0) return tests;
  const why = missed?.attempts.at(-1)?.detail ?? missed?.reason ?? "";
  throw new AppError("failed", `the test has not arrived${why === "" ? "" : `: ${why}`}`, {
    hint: "fix that and run this again; .env is as it was",
  });
}

/** What will keep alerts from going where the test went. */
async function warn(
  { values, destinations }: Choice,
  { before }: EnvFileChange,
  { rules }: Config,
  { env }: CliContext,
  output: Output,
): Promise<void> {
  for (const [name, value] of Object.entries(values)) {
    const outer = env[name];
    if (outer !== undefined && outer !== "" && outer !== value && outer !== before[name])
      await output.note(`warning: ${name} is set in this shell's environment, which goes before .env: unset it there`);
  }
  for (const name of destinations) {
    if (rules.routes.some(({ to }) => to.includes(name))) continue;
    await output.note(`warning: no route of tocsin.yaml leads to ${name}; add it to a route: to: [${name}]`);
  }
}

interface ChangeRow {
  variable: string;
  before: string;
  after: string;
}

/** Without what is secret. */
function describeChange({ before }: EnvFileChange, values: Record<string, string>): ChangeRow[] {
  return Object.entries(values).map(([variable, value]) => ({
    variable,
    before: before[variable] === undefined ? "none" : mask(variable, before[variable] ?? ""),
    after: before[variable] === value ? "the same" : mask(variable, value),
  }));
}

function mask(variable: string, value: string): string {
  if (variable === "TELEGRAM_BOT_TOKEN") return `${/^\d{1,20}(?=:)/.exec(value)?.[0] ?? ""}:***`;
  if (variable !== "SMTP_URL") return value;
  if (!URL.canParse(value)) return "***";
  const { protocol, host, username } = new URL(value);
  return `${protocol}//${username === "" ? "" : `${userOf(value)}:***@`}${host}`;
}

async function showChange(context: CliContext, output: Output, rows: readonly ChangeRow[]): Promise<void> {
  if (output.json) return;
  const columns = [{ title: "variable", keep: true }, { title: "before" }, { title: "after" }];
  const table = output.table(
    columns,
    rows.map(({ variable, before, after }) => [variable, before, after]),
  );
  await writeText(context.stderr, `${table}\n`);
}

async function report(
  { options, context, output }: { options: StartOptions; context: CliContext; output: Output },
  started: {
    relay: Relay;
    secrets: ServerSecrets;
    config: Config;
    change: EnvFileChange;
    tests: readonly DirectTest[];
    rows: readonly ChangeRow[];
  },
): Promise<void> {
  const { relay, secrets, config, change, tests, rows } = started;
  const { loginLink } = await import("../../contract/login-link.ts");
  const link = loginLink(relay.publicUrl, secrets.adminToken, context.now());
  const data = {
    envFile: change.path,
    changed: !change.isSame,
    variables: rows,
    tests: toTests(tests),
    serving: options.serve,
    url: relay.localUrl,
    publicUrl: relay.publicUrl,
  };
  const isPublic = config.server.publicUrl !== undefined;
  await output.result(data, () => {
    const wrote = change.isSame
      ? `${change.path} says all of it already.`
      : `Written: ${change.path} (only you can read it).`;
    if (!options.serve) return output.asTyped(`${wrote} Start it with: tocsin serve\n`);
    const hook = `${relay.localUrl}/hooks/${secrets.webhookSecret.reveal()}`;
    const alert = `'{"title":"USDC TVL 24.3 M, below 25 M","severity":"critical"}'`;
    const fields = output.fields([
      ["serving at", relay.localUrl],
      ...(context.isTty.stdout ? [["log page", link] as [string, string]] : []),
      ["ring again", output.asTyped("tocsin test, in another terminal")],
      [
        "go public",
        isPublic
          ? output.asTyped("tocsin setup")
          : output.asTyped("put it where the service reaches it (README, Deploy), set PUBLIC_URL, then: tocsin setup"),
      ],
      ["end", output.asTyped("Ctrl-C; later: tocsin serve")],
    ]);
    // The address is a secret, so it is not written where it may be kept.
    const paste = context.isTty.stdout ? `\nSend an alert from another terminal:\n\ncurl -d ${alert} ${hook}\n` : "";
    return `${wrote}\n\n${fields}${paste}`;
  });
}
