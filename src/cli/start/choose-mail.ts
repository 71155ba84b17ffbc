import { envText } from "../../config/server-env.ts";
import { AppError } from "../../core/errors.ts";
import { isMailAddress, parseMailAddress } from "../../ground/text/mail-address.ts";
import type { CliContext } from "../shell/context.ts";
import type { Choice } from "./choose-telegram.ts";
import type { Prompts } from "./prompts.ts";
import type { StartOptions } from "./start.ts";

/**
 * A mail server, who sends, and who gets it. Whether the server takes all that is seen by the test.
 * @throws AppError `usage` for what is missing where nobody can be asked
 */
export async function chooseMail({
  context: { env },
  prompts,
  options,
}: {
  context: CliContext;
  prompts: Prompts | undefined;
  options: StartOptions;
}): Promise<Choice> {
  const smtpUrl = envText(env, "SMTP_URL") ?? (await askForServer(prompts));
  const to = options.to ?? (await askForMailboxes(prompts, envText(env, "EMAIL_TO")));
  const wrong = to.find((address) => !isMailAddress(address));
  if (wrong !== undefined) throw new AppError("usage", `--to: ${wrong} is not a mail address`);
  const from = options.from ?? envText(env, "EMAIL_FROM") ?? (await askForSender(prompts, userOf(smtpUrl), to));
  if (parseMailAddress(from) === undefined) throw new AppError("usage", `${from} is not a mail address`);
  return { values: { SMTP_URL: smtpUrl, EMAIL_FROM: from, EMAIL_TO: to.join(",") }, destinations: ["email"] };
}

async function askForServer(prompts: Prompts | undefined): Promise<string> {
  if (prompts === undefined) {
    throw new AppError("usage", "there is no mail server: SMTP_URL is not set", {
      hint: "set it, e.g. SMTP_URL=smtps://user:password@smtp.example.com",
    });
  }
  const host = await prompts.text("Mail server", {
    placeholder: "smtp.example.com",
    check: (text) => (/^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(text) ? undefined : "Write its name, e.g. smtp.example.com."),
  });
  const scheme = await prompts.select("How does it take mail?", [
    { value: "smtps", label: "TLS from the first byte (port 465)" },
    { value: "smtp", label: "STARTTLS where it offers it (port 587)" },
  ]);
  const user = await prompts.text("User (empty: none)", { check: () => undefined, initial: "" });
  const password = user === "" ? "" : await prompts.secret("Password", () => undefined);
  const login = user === "" ? "" : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return `${scheme}://${login}${host}`;
}

async function askForMailboxes(prompts: Prompts | undefined, initial: string | undefined): Promise<string[]> {
  const split = (text: string) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "");
  if (prompts === undefined) {
    if (initial !== undefined) return split(initial);
    throw new AppError("usage", "nobody gets the mail", { hint: "name the mailboxes with --to desk@example.com" });
  }
  const text = await prompts.text("Who gets the alerts? (several separated by commas)", {
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
  if (prompts === undefined) {
    throw new AppError("usage", "there is no sender: the user of SMTP_URL is no mail address", {
      hint: "name it with --from tocsin@example.com",
    });
  }
  const domain = to[0]?.split("@")[1] ?? "example.com";
  return prompts.text("Sender of the mail", {
    initial: `tocsin@${domain}`,
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
