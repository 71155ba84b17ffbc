import { minutesPass, startClockedRelay } from "./clocked-relay.ts";
import { createJourneyWorld, deskChat, mailAddress } from "./journey-world.ts";
import { createSlackVendor } from "./vendors/app-vendors.ts";

/**
 * A relay whose clock the test moves, with the destinations `desk` (a chat), `mail` and `work` (Slack).
 * @param rules the rest of the configuration file, and more `destinations` of it
 * @param at what its clock says first. Default: now.
 */
export async function openRingingWorld(
  { rules, destinations = "" }: { rules: string; destinations?: string },
  at = Date.now(),
) {
  const slack = await createSlackVendor();
  const yaml = `
destinations:
  desk: { type: telegram, chatId: "${deskChat}", chart: false }
  mail: { type: email, to: [${mailAddress}], chart: false }
  work: { type: slack, url: "\${SLACK_URL}", allowInternal: [127.0.0.1], chart: false }
${destinations}
${rules}
`;
  const world = await createJourneyWorld({ yaml, chat: { now: minutesPass() } });
  world.env.SLACK_URL = `${slack.origin}${slack.path}`;
  const inChat = () => world.chat.messages(deskChat);
  return {
    world,
    relay: await startClockedRelay(world, {}, at),
    slack,
    inChat,
    mails: () => world.mailbox.mails(mailAddress),
    /** Messages of the chat that made a sound. */
    rings: () => inChat().filter(({ silent }) => !silent).length,
  };
}
