import { AppError } from "../../core/errors.ts";
import { command, type GivenOptions } from "../command.ts";
import { flag, orNo, text, yes } from "../options.ts";

const options = {
  dryRun: flag("show what would change, and change nothing"),
  restore: flag("put back what the account had before setup"),
  takeOver: flag("replace, or turn off, a webhook address that is not this relay's"),
  channel: orNo(
    text("also set the account's messenger channel (starts with -)", { of: "id" }),
    "also clear the account's messenger channel",
  ),
  rotateSecret: flag("make a new secret for the hook and register the new address"),
  webhookOff: flag("let the account send to no webhook, instead of to this relay"),
  skipProof: flag("change the account without looking whether alerts would arrive, and without a test"),
  source: text("all of this for the account of a source and its hook, instead of ALERTING_URL's", { of: "name" }),
  yes,
};

export type SetupOptions = Partial<GivenOptions<typeof options>>;

export const setup = command({
  name: "setup",
  summary: "make the account send to this relay, after a proof",
  says: "prove that alerts would arrive, make the account send them to this relay, and send a marked test to every destination",
  options,
  check: refuseContradictions,
  examples: [
    "tocsin setup --dry-run",
    "tocsin setup --channel -1001234567890",
    "tocsin setup --restore",
    "tocsin setup --webhook-off --no-channel",
  ],
  run: async (given, { context, output }) => (await import("./run-setup.ts")).runSetup(given, context, output),
});

function refuseContradictions({ channel, restore, rotateSecret, source, webhookOff }: SetupOptions) {
  const refuse = (message: string, hint?: string) => new AppError("usage", message, { hint });
  if (source !== undefined && rotateSecret) {
    const hint = `first tocsin sources --rotate ${source}, then this without --rotate-secret, then tocsin sources --retire ${source}`;
    return refuse("--rotate-secret is for the account's own hook", hint);
  }
  if (restore && (rotateSecret || webhookOff || channel !== undefined))
    return refuse("--restore puts everything back and goes with --dry-run, --take-over, --source and --yes only");
  if (webhookOff && rotateSecret)
    return refuse("--webhook-off registers no address, so it does not go with --rotate-secret");
  return undefined;
}
