import { envText } from "../../config/server-env.ts";
import { AppError } from "../../core/errors.ts";
import { isMailAddress, parseMailAddress } from "../../ground/text/mail-address.ts";
import type { Choice, ChoosingRun } from "./choose-telegram.ts";
import { ask, type Prompts } from "./prompts.ts";

/**
 * A mail server, who sends, and who gets it. Whether the server takes all that is seen by the test.
 * @throws AppError `usage` for what is missing where nobody can be asked
 */
export async function chooseMail({ context: { env }, prompts, options }: ChoosingRun): Promise<Choice> {
  const smtpUrl = envText(env, "SMTP_URL") ?? (await askForServer(prompts));
  const to = options.to ?? (await askForMailboxes(prompts, envText(env, "EMAIL_TO")));
  const wrong = to.find((address) => !isMailAddress(address));
  if (wrong !== undefined) throw new AppError("usage", `--to: ${wrong} is not a mail address`);
  const from = options.from ?? envText(env, "EMAIL_FROM") ?? (await askForSender(prompts, userOf(smtpUrl), to));
  if (parseMailAddress(from) === undefined) throw new AppError("usage", `${from} is not a mail address`);
  return { values: { SMTP_URL: smtpUrl, EMAIL_FROM: from, EMAIL_TO: to.join(",") }, destinations: ["email"] };
}

async function askForServer(prompts: Prompts | undefined): Promise<string> {
  const hint = "set it, e.g. SMTP_URL=smtps://user:password@smtp.example.com";
  const somebody = ask(prompts, "there is no mail server: SMTP_URL is not set", hint);
  const host = await somebody.text("Mail server", {
    placeholder: "smtp.example.com",
    check: (text) => (/^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(text) ? undefined : "Write its name, e.g. smtp.example.com."),
  });
  const scheme = await somebody.select("How does it take mail?", [
    { value: "smtps", label: "TLS from the first byte (port 465)" },
    { value: "smtp", label: "STARTTLS where it offers it (port 587)" },
  ]);
  const user = await somebody.text("User (empty: none)", { check: () => undefined, initial: "" });
  const password = user === "" ? "" : await somebody.secret("Password");
  const login = user === "" ? "" : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return `${scheme}://${login}${host}`;
}

const split = (text: string) => text.split(/\s*,\s*/).filter((part) => part !== "");

async function askForMailboxes(prompts: Prompts | undefined, initial: string | undefined): Promise<string[]> {
  if (prompts === undefined && initial !== undefined) return split(initial);
  const somebody = ask(prompts, "nobody gets the mail", "name the mailboxes with --to desk@example.com");
  const text = await somebody.text("Who gets the alerts? (several separated by commas)", {
    placeholder: "desk@example.com",
    initial,
    check: (value) => {
      const wrong = split(value).find((address) => !isMailAddress(address));
      if (wrong !== undefined) return `${wrong} is not a mail address.`;
      return split(value).length === 0 ? "Write at least one mail address." : undefined;
    },
  });
  return split(text);
}

async function askForSender(prompts: Prompts | undefined, user: string, to: readonly string[]): Promise<string> {
  if (isMailAddress(user)) return user;
  const missing = "there is no sender: the user of SMTP_URL is no mail address";
  return ask(prompts, missing, "name it with --from tocsin@example.com").text("Sender of the mail", {
    initial: `tocsin@${to[0]?.split("@")[1] ?? "example.com"}`,
    check: (value) => (parseMailAddress(value) === undefined ? `${value} is not a mail address.` : undefined),
  });
}

/** Empty for an address that cannot be read; the configuration says what is wrong with it. */
export function userOf(smtpUrl: string): string {
  try {
    return decodeURIComponent(new URL(smtpUrl).username);
  } catch {
    return "";
  }
}
