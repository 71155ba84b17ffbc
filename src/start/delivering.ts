import { join } from "node:path";
import type { Config } from "../config/config.ts";
import type { Mute } from "../core/rules.ts";
import type { NameOf } from "../core/subject-name.ts";
import { Engine, type EngineDeps } from "../delivery/engine.ts";
import { openClaimJournal } from "../delivery/memory/claim-journal.ts";
import type { Processing } from "../explain/processing.ts";
import { createFindMute } from "../explain/route-again.ts";
import { createChannel } from "../vendors/index.ts";
import type { RelayPictures } from "./open-pictures.ts";
import type { Common } from "./relaying.ts";

export interface DeliveringDeps extends Common, Pick<EngineDeps, "self" | "report"> {
  processing: Processing;
  pictures: RelayPictures;
  nameOf: NameOf;
  /** Made at run time. */
  activeMutes(): Mute[];
}

/**
 * Opens a channel to each destination, and starts the engine over them.
 * @param undo gets what ends each part, as soon as there is something to end
 */
export async function startDelivering(
  { rules, delivery: settings, dataDir }: Config,
  { processing, pictures, nameOf, activeMutes, ...deps }: DeliveringDeps,
  undo: (() => unknown)[],
) {
  const { clock, log, publicUrl } = deps;
  const outlets = await Promise.all(
    rules.destinations.map(async (destination) => ({
      destination,
      channel: await createChannel(destination, { now: clock.now, drawPicture: pictures.draw }),
    })),
  );
  undo.push(() => Promise.all(outlets.map(({ channel }) => channel.close())));
  // Without a folder each claim is made by itself, see `ClaimJournal`.
  const journal =
    dataDir === undefined
      ? undefined
      : openClaimJournal(join(dataDir, "tocsin.db.claims"), {
          onFault: (error) => log.error("delivery.journal_failed", { error: error.message }),
        });
  undo.push(() => journal?.close());
  const engine = await Engine.start({
    ...deps,
    journal,
    outlets,
    composer: processing.createComposer(publicUrl, log, {
      nameOf,
      pictures: { hasRecords: pictures.haveRecords, linkTo: pictures.linkTo },
    }),
    readPayloads: processing.readPayloads,
    findHold: processing.router.findHold,
    findMute: createFindMute(deps.store, processing.readPayloads, () => [...rules.mutes, ...activeMutes()]),
    illustrate: pictures.illustrate,
    pictureNotes: pictures.notes,
    settings,
  });
  undo.push(() => engine.stop(0));
  return {
    engine,
    /** What is known of claims and pictures is kept. @param callsMs what calls under way may take */
    async stop(callsMs: number): Promise<void> {
      await engine.stop(callsMs);
      await pictures.notes.save();
      journal?.close();
      await Promise.all(outlets.map(({ channel }) => channel.close()));
    },
  };
}
