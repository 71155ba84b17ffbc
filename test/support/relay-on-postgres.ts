import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDeliveryReceiver } from "./delivery-receiver.ts";
import { startRelayProcess } from "./relay-process.ts";
import { createSeededRandom } from "./seeded-random.ts";
import { makeTempFolder } from "./temp-folder.ts";

/**
 * A relay on a database, which sends all that comes to a webhook, the destination `desk`.
 * @param longestMs see `createDeliveryReceiver`
 * @param more lines that follow in the configuration
 */
export async function prepareRelayOnPostgres(databaseUrl: string, longestMs: number, more = "") {
  const receiver = await createDeliveryReceiver({ longestMs, random: createSeededRandom(7).next });
  const dataDir = makeTempFolder();
  const path = join(dataDir, "tocsin.yaml");
  const destination = `desk: { type: webhook, url: "${receiver.url}", allowInternal: ["127.0.0.1"] }`;
  writeFileSync(path, `destinations:\n  ${destination}\n${more}`);
  const env = { TOCSIN_CONFIG: path, DATABASE_URL: databaseUrl };
  /** Again after it has ended, too. */
  const start = (others: Record<string, string> = {}) => startRelayProcess(dataDir, { ...env, ...others });
  return { receiver, arrived: receiver.arrived, dataDir, start };
}
