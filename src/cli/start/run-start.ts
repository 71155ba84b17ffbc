import type { Config } from "../../config/config.ts";
import { type EnvFileChange, planEnvFile, writeEnvFile } from "../../config/env-file.ts";
import { loadConfig } from "../../config/load-config.ts";
import { untilAborted } from "../../core/clock.ts";
import { AppError } from "../../core/errors.ts";
import type { Panel } from "../../panels/panel.ts";
import { factsOf, paragraph, say } from "../../panels/sections.ts";
import { tryPanel } from "../../panels/setup.ts";
import { testPanel } from "../../panels/test.ts";
import { hasReached } from "../alerts/one-alert.ts";
import { checkDestination } from "../doctor/check-destinations.ts";
import { formatFinding } from "../doctor/run-doctor.ts";
import { createRelayClient } from "../relay/connect-relay.ts";
import { type OwnRelay, runOwnRelay } from "../relay/run-own-relay.ts";
import { type CliContext, writeText } from "../shell/context.ts";
import type { Output } from "../shell/output.ts";
import { type DirectTest, testDestinations, toTests } from "../test/run-test.ts";
import { type Choice, type ChoosingRun, chooseMail, chooseTelegram, userOf } from "./choose-way.ts";
import { openPrompts, type Prompts } from "./prompts.ts";
import type { StartOptions } from "./start.ts";

const testTimeoutMs = 60_000;
const asItWas = ".env is as it was";
const stopped = `Stopped; ${asItWas}.`;

/** Asks for a way to reach people, tests it with the relay that then serves, and only then writes `.env`. */
export async function runStart(options: StartOptions, context: CliContext, output: Output): Promise<void> {
  const prompts = await openPrompts(context, stopped);
  const run = { options, context, output, prompts };
  const choice = await chooseUntilItWorks(run);
  // A file that cannot be written is reported before anything is sent.
  await planEnvFile(context.cwd, choice.values);
  const env = { ...context.env, ...choice.values };
  // The same relay serves afterwards, so the test takes the real way and is in its log.
  const own = await runOwnRelay({ ...context, env });
  try {
    const tests = await sendTests(run, own, choice.destinations);
    const change = await planEnvFile(context.cwd, choice.values);
    await warn(run, choice, change, own.config);
    const variables = describeChange(change, choice.values);
    const columns = [{ title: "variable", keep: true }, { title: "before" }, { title: "after" }];
    const table = output.draw({ kind: "table", columns, rows: variables.map(Object.values) });
    if (!output.json) await writeText(context.stderr, `${table}\n`);
    if (!change.isSame) {
      if (!options.yes && !(await prompts?.confirm("Write this to .env?"))) throw new AppError("cancelled", stopped);
      context.signal.throwIfAborted();
      await writeEnvFile(change);
    }
    const { localUrl, publicUrl } = own.relay;
    const data = {
      envFile: change.path,
      changed: !change.isSame,
      variables,
      tests: toTests(tests),
      serving: options.serve,
    };
    await output.result({ ...data, url: localUrl, publicUrl }, () => endPanel(run, own, change));
    if (options.serve) await untilAborted(context.signal);
  } finally {
    await own.relay.stop();
  }
}

/** A person who can be asked gets another try where a server or a chat refuses. */
async function chooseUntilItWorks(run: ChoosingRun): Promise<Choice> {
  const { context, output, options, prompts } = run;
  const way = await chooseWay(options, prompts);
  for (let env = context.env; ; env = withoutLogin(context.env)) {
    const choosing = { ...run, context: { ...context, env } };
    const choice = way === "mail" ? await chooseMail(choosing) : await chooseTelegram(choosing);
    const config = loadConfig({ env: { ...context.env, ...choice.values }, cwd: context.cwd });
    const findings = [];
    for (const destination of config.rules.destinations.filter(({ name }) => choice.destinations.includes(name))) {
      await output.progress.update(`asking ${destination.name} whether it would take messages`);
      findings.push(...(await checkDestination({ context, output, flags: {} }, destination)));
    }
    await output.progress.clear();
    const wrong = findings.filter(({ verdict }) => verdict === "problem");
    const [first] = wrong;
    if (first === undefined) return choice;
    if (prompts === undefined) {
      const hint = [first.mend, asItWas].filter((part) => part !== undefined).join("; ");
      throw new AppError("failed", `${first.check}: ${first.detail}`, { hint });
    }
    for (const finding of wrong) await writeText(context.stderr, formatFinding(finding, output));
    if (!(await prompts.confirm("Try again, with other values?"))) throw new AppError("cancelled", stopped);
  }
}

/** Leaves out the refused values, so they are asked for anew. */
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

/** @throws AppError `failed` unless every destination has received its test. */
async function sendTests(
  { context, output }: ChoosingRun,
  { relay, config }: OwnRelay,
  to: string[],
): Promise<DirectTest[]> {
  const token = { secret: relay.secrets.adminToken, from: "this relay" };
  const client = await createRelayClient({ url: relay.localUrl, token, signal: context.signal });
  const options = { to, severity: "info", timeout: testTimeoutMs } as const;
  const tests = await testDestinations({ context, output, flags: {} }, client, options);
  await output.progress.clear();
  const definedAt = (name: string) => config.rules.destinations.find((one) => one.name === name)?.definedAt;
  const told = output.draw(tests.flatMap((test) => testPanel(test, definedAt)));
  if (!output.json) await writeText(context.stderr, `${told}\n`);
  const deliveries = tests.flatMap((test) => test.deliveries);
  const missed = deliveries.find((delivery) => !hasReached(delivery));
  if (missed === undefined && deliveries.length > 0) return tests;
  const why = missed?.attempts.at(-1)?.detail ?? missed?.reason ?? "";
  throw new AppError("failed", `the test has not arrived${why === "" ? "" : `: ${why}`}`, {
    hint: `fix that and run this again; ${asItWas}`,
  });
}

/** Warns of settings that keep alerts from the destination of the test. */
async function warn(
  { context: { env }, output }: ChoosingRun,
  { values, destinations }: Choice,
  { before }: EnvFileChange,
  { rules }: Config,
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

function describeChange({ before }: EnvFileChange, values: Record<string, string>) {
  return Object.entries(values).map(([variable, value]) => {
    const old = before[variable];
    const after = old === value ? "the same" : mask(variable, value);
    return { variable, before: old === undefined ? "none" : mask(variable, old), after };
  });
}

function mask(variable: string, value: string): string {
  if (variable === "TELEGRAM_BOT_TOKEN") return `${/^\d{1,20}(?=:)/.exec(value)?.[0] ?? ""}:***`;
  if (variable !== "SMTP_URL") return value;
  if (!URL.canParse(value)) return "***";
  const { protocol, host, username } = new URL(value);
  return `${protocol}//${username === "" ? "" : `${userOf(value)}:***@`}${host}`;
}

async function endPanel(
  { options, context }: ChoosingRun,
  { relay, config }: OwnRelay,
  { path, isSame }: EnvFileChange,
): Promise<Panel> {
  const wrote = isSame ? `${path} says all of it already.` : `Written: ${path} (only you can read it).`;
  const serve = { code: "tocsin serve" };
  if (!options.serve) return [paragraph`${wrote} Start it with: ${serve}`];
  const { loginLink } = await import("../../contract/login-link.ts");
  const { adminToken, webhookSecret } = relay.secrets;
  const link = loginLink(relay.publicUrl, adminToken, context.now());
  const isPublic = config.server.publicUrl !== undefined;
  const first = isPublic ? "" : "put it where the service reaches it (README, Deploy), set PUBLIC_URL, then: ";
  // Both contain a secret, so they are only written to a terminal.
  const isShown = context.isTty.stdout;
  const hookUrl = `${relay.localUrl}/hooks/${webhookSecret.reveal()}`;
  return [
    paragraph`${wrote}`,
    factsOf([
      ["serving at", relay.localUrl],
      ["log page", isShown && link],
      ["go public", say`${first}${{ code: "tocsin setup" }}`],
      ["end", say`Ctrl-C; later: ${serve}`],
    ]),
    isShown && tryPanel(hookUrl, { isRevealed: true }),
  ];
}
