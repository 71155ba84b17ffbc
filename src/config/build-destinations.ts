import { type ChannelType, channelTypes } from "../core/delivery.ts";
import type { Destination, EmailAccount, TelegramBot } from "../core/rules.ts";
import { Secret } from "../core/secret.ts";
import { Refusal, referTo } from "../ground/shape/refusal.ts";
import { showValue } from "../ground/shape/show-value.ts";
import { suggestOrList } from "../ground/text/suggest.ts";
import { type BaseOptions, buildBase, type Defaults } from "./destination-base.ts";
import type { EnvSettings } from "./read-env.ts";
import { destinationSchemas } from "./schema.ts";
import type { ConfigPath, ProblemList } from "./shape/problem-list.ts";
import { adviseOnDestination, readShape, refuseKind } from "./shape/read-shape.ts";
import { readSmtpUrl } from "./smtp-url.ts";
import { readTelegramBot } from "./telegram-bot.ts";
import { readHeaders, readSigningSecret } from "./webhook-options.ts";
import { refuseWrittenSecrets } from "./written-secrets.ts";

export interface DestinationContext {
  defaults: Defaults;
  env: EnvSettings;
  problems: ProblemList;
  isReference(path: ConfigPath): boolean;
}

/** The destinations that the environment alone makes: one for each chat, and one for all mailboxes. */
export function buildEnvDestinations({ telegram, email }: EnvSettings, defaults: Defaults): Destination[] {
  const destinations: Destination[] = [];
  const { bot } = telegram;
  if (bot !== undefined) {
    for (const chatId of telegram.chatIds) {
      const base = buildBase(`telegram:${chatId}`, "telegram", {}, defaults, "TELEGRAM_CHAT_IDS");
      destinations.push({ ...base, type: "telegram", chatId, silent: false, bot });
    }
  }
  const { account, from, to } = email;
  if (account !== undefined && from !== undefined && to.length > 0) {
    const base = buildBase("email", "email", {}, defaults, "EMAIL_TO");
    destinations.push({ ...base, type: "email", to, from, account });
  }
  return destinations;
}

/** One entry of `destinations:`; `undefined` after reporting what is wrong with it. */
export function buildDestination(
  name: string,
  value: unknown,
  context: DestinationContext,
): Destination | undefined {
  const { problems } = context;
  const path = ["destinations", name];
  if (!/^[A-Za-z0-9][\w.:@+-]{0,63}$/.test(name)) {
    problems.add(
      path,
      "is not a name for a destination",
      "use up to 64 letters, digits and . _ - : @ +",
      "key",
    );
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const { message, instead } = refuseKind("map", name, value, adviseOnDestination(value));
    problems.add(path, message, instead);
    return undefined;
  }
  const written: unknown = Reflect.get(value, "type");
  const type = channelTypes.find((known) => known === written);
  if (type === undefined) {
    const known =
      typeof written === "string"
        ? suggestOrList(written, channelTypes)
        : `write one of ${channelTypes.join(", ")}`;
    const what = written === undefined ? "is missing" : `${showValue(written)} is not a type of destination`;
    problems.add([...path, "type"], what, known);
    return undefined;
  }
  refuseWrittenSecrets(type, value, path, context);
  return buildOfType(type, name, value, path, context);
}

function buildOfType(
  type: ChannelType,
  name: string,
  value: object,
  path: ConfigPath,
  context: DestinationContext,
): Destination | undefined {
  const { problems, defaults } = context;
  const base = (options: BaseOptions) => buildBase(name, type, options, defaults, problems.whereIs(path));
  switch (type) {
    case "telegram": {
      const options = readShape(destinationSchemas.telegram, value, path, problems);
      const bot = findBot(options ?? textsOf(value, ["botToken"]), path, context);
      if (options === undefined || bot === undefined) return undefined;
      const topicId = options.topicId === undefined ? {} : { topicId: options.topicId };
      return {
        ...base(options),
        type,
        chatId: options.chatId,
        ...topicId,
        silent: options.silent ?? false,
        bot,
      };
    }
    case "email": {
      const options = readShape(destinationSchemas.email, value, path, problems);
      const sender = findSender(options ?? textsOf(value, ["from", "smtpUrl"]), path, context);
      if (options === undefined || sender === undefined) return undefined;
      return { ...base(options), type, to: [...new Set(options.to)], ...sender };
    }
    case "webhook": {
      const options = readShape(destinationSchemas.webhook, value, path, problems);
      if (options === undefined) return undefined;
      const secret = options.secret === undefined ? undefined : readSigningSecret(options.secret);
      if (secret instanceof Refusal) problems.add([...path, "secret"], secret.message, secret.instead);
      const headers = readHeaders(options.headers ?? {}, path, problems);
      const signed = secret === undefined || secret instanceof Refusal ? {} : { secret };
      return {
        ...base(options),
        type,
        url: options.url,
        ...signed,
        headers,
        allowInternal: options.allowInternal ?? [],
      };
    }
    case "slack":
    case "discord": {
      const options = readShape(destinationSchemas[type], value, path, problems);
      if (options === undefined) return undefined;
      return {
        ...base(options),
        type,
        url: new Secret(options.url),
        allowInternal: options.allowInternal ?? [],
      };
    }
    case "ntfy": {
      const options = readShape(destinationSchemas.ntfy, value, path, problems);
      if (options === undefined) return undefined;
      const { topic, server = "https://ntfy.sh", allowInternal = [] } = options;
      const token = options.token === undefined ? {} : { token: new Secret(options.token) };
      return { ...base(options), type, server, topic, ...token, allowInternal };
    }
    case "apprise": {
      const options = readShape(destinationSchemas.apprise, value, path, problems);
      if (options === undefined) return undefined;
      const { server, key, tag, urls = [], allowInternal = [] } = options;
      if ((key === undefined) === (urls.length === 0)) {
        problems.add(
          path,
          "needs either key or urls",
          "write the key of a stored configuration, or the Apprise addresses",
        );
      }
      const secretUrls = urls.map((url) => new Secret(url));
      return {
        ...base(options),
        type,
        server,
        ...(key && { key }),
        urls: secretUrls,
        ...(tag && { tag }),
        allowInternal,
      };
    }
  }
}

/** What can be read of an entry that has mistakes elsewhere, so that all are reported in one run. */
function textsOf<K extends string>(value: object, names: K[]): Partial<Record<K, string>> {
  const texts: Partial<Record<K, string>> = {};
  for (const name of names) {
    const text: unknown = Reflect.get(value, name);
    if (typeof text === "string" && text !== "") texts[name] = text;
  }
  return texts;
}

function findBot(
  options: { botToken?: string; apiRoot?: string },
  path: ConfigPath,
  { env, problems }: DestinationContext,
): TelegramBot | undefined {
  const apiRoot = options.apiRoot ?? env.telegram.apiRoot;
  if (options.botToken === undefined) {
    if (env.telegram.bot !== undefined) return { ...env.telegram.bot, apiRoot };
    if (problems.hasEnvProblem("TELEGRAM_BOT_TOKEN")) return undefined;
    problems.add(
      path,
      "there is no bot to write to this chat",
      `set TELEGRAM_BOT_TOKEN, or write botToken: ${referTo("NAME_OF_A_VARIABLE")}`,
    );
    return undefined;
  }
  const bot = readTelegramBot(options.botToken, apiRoot);
  if (!(bot instanceof Refusal)) return bot;
  problems.add([...path, "botToken"], bot.message, bot.instead);
  return undefined;
}

function findSender(
  options: { from?: string; smtpUrl?: string },
  path: ConfigPath,
  { env, problems }: DestinationContext,
): { account: EmailAccount; from: string } | undefined {
  const account = options.smtpUrl === undefined ? env.email.account : readSmtpUrl(options.smtpUrl);
  const from = options.from ?? env.email.from;
  if (account instanceof Refusal) problems.add([...path, "smtpUrl"], account.message, account.instead);
  if (account === undefined && !problems.hasEnvProblem("SMTP_URL"))
    problems.add(
      path,
      "there is no mail server to send by",
      `set SMTP_URL, or write smtpUrl: ${referTo("NAME_OF_A_VARIABLE")}`,
    );
  if (from === undefined && !problems.hasEnvProblem("EMAIL_FROM"))
    problems.add(path, "there is no sender address", "set EMAIL_FROM, or write from: tocsin@example.com");
  if (account === undefined || account instanceof Refusal || from === undefined) return undefined;
  return { account, from };
}
