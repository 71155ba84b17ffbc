import { setMaxListeners } from "node:events";
import type { Config } from "../config/config.ts";
import type { DrawAlertPicture, NoAlertPicture } from "../core/ports/alert-picture.ts";
import type { Illustrate, IllustrateOptions } from "../core/ports/illustration.ts";
import type { Secret } from "../core/secret.ts";
import type { AlertPicturesDeps } from "../operations/alert-picture.ts";
import { createPictureNotes, type KeptPictureNotes, type PictureNotesDeps } from "../operations/picture-notes.ts";
import { destinationTag, pictureAddress } from "../web/access/picture-address.ts";
import type { Market } from "./open-market.ts";
import type { Common } from "./relaying.ts";

export interface PicturesDeps extends Omit<AlertPicturesDeps, "toPng"> {
  adminToken: Secret;
  /** Notes which messages have a picture's address, and whose picture was fetched. Default: nothing is noted. */
  notes?: Pick<KeptPictureNotes, "noteLinked" | "noteFetched">;
  /** The destinations whose messages may have a picture. */
  destinations: readonly string[];
  /** The address from which vendors and apps fetch pictures. Undefined: they cannot fetch any. */
  publicUrl?: string;
  /** One line about the market around an alert. Undefined: nothing is known. Absent: no line is wanted. */
  describe?: NonNullable<Market["context"]>["describe"];
}

/** The most alerts a minute whose messages get an address of a picture: those of a flood get none. */
const mostLinks = 20;
const minuteMs = 60_000;
/** The time limit for pictures that are drawn ahead. Nobody waits for these. */
const aheadMs = 10_000;

export interface RelayPicturesDeps extends Pick<Common, "store" | "clock" | "log"> {
  isShared: PictureNotesDeps["isShared"];
  openMarket(): Promise<Market>;
  adminToken: Secret;
  /** The relay's address on this machine, for apps on this machine. Default: none. */
  urlOnThisMachine?: string;
}

export type RelayPictures = ReturnType<typeof openPictures>;

export function openPictures({ rules, upstream, watch, server }: Config, deps: RelayPicturesDeps) {
  const { store, isShared, openMarket, adminToken, clock, log } = deps;
  const destinations = rules.destinations.filter(({ chart }) => chart === true).map(({ name }) => name);
  const notes = createPictureNotes({ store, isShared, destinations, clock, log });
  const haveRecords = upstream.alerting !== undefined && watch.enabled;
  const publicUrl = deps.urlOnThisMachine ?? (server.publicUrl?.startsWith("https:") ? server.publicUrl : undefined);
  const pictures = createPictures({
    store,
    notes,
    destinations,
    readHistory: haveRecords ? async (key) => (await openMarket()).histories?.read(key) : undefined,
    describe: async (...asked) => (await openMarket()).context?.describe(...asked),
    clock,
    adminToken,
    publicUrl,
  });
  return {
    ...pictures,
    notes,
    haveRecords,
    /** Whether vendors and apps can fetch pictures. */
    areFetched: publicUrl !== undefined,
  };
}

/** Draws for messages and pages. Its parts are loaded when the first picture is asked for. */
export function createPictures(deps: PicturesDeps) {
  let isClosed = false;
  const ended = new AbortController();
  // Each drawing adds a listener.
  setMaxListeners(0, ended.signal);
  let opened: ReturnType<typeof open> | undefined;

  async function open() {
    const [{ PngDesk }, { createAlertPictures }] = await Promise.all([
      import("../charts/png-desk.ts"),
      import("../operations/alert-picture.ts"),
    ]);
    const desk = new PngDesk();
    if (isClosed) await desk.close();
    return { desk, drawAlert: createAlertPictures({ ...deps, toPng: desk.draw }) };
  }

  function parts() {
    opened ??= open();
    return opened;
  }

  const draw: DrawAlertPicture = async (alertId, options) => (await parts()).drawAlert(alertId, options);
  const destinations = new Map(deps.destinations.map((name) => [destinationTag(deps.adminToken, name), name]));
  const isInBudget = createBudget(deps.clock.now);

  return {
    draw,
    /** Without a picture there is no line either. */
    async illustrate(alertId: string, options: IllustrateOptions): ReturnType<Illustrate> {
      const { signal, deadlineMs } = options;
      const [picture, line] = await Promise.all([
        draw(alertId, options),
        deps.describe?.(alertId, { signal, deadlineMs }).catch(() => undefined),
      ]);
      return "none" in picture ? { none: whyNone[picture.none] } : { ...picture, line };
    },
    /** Starts the drawing at once. Undefined where pictures cannot be fetched, or after too many requests. */
    linkTo(alertId: string, { name: destination, timeZone }: { name: string; timeZone: string }): string | undefined {
      const { publicUrl, adminToken, clock } = deps;
      if (publicUrl === undefined || isClosed || !isInBudget(alertId)) return undefined;
      const name = { alertId, theme: "light", timeZone } as const;
      draw(alertId, { ...name, signal: ended.signal, deadlineMs: aheadMs }).catch(() => {});
      deps.notes?.noteLinked({ destination, id: alertId });
      const tag = destinationTag(adminToken, destination);
      return pictureAddress(publicUrl, adminToken, clock.now(), { ...name, tag });
    },
    noteFetched(alertId: string, tag: string): void {
      const destination = destinations.get(tag);
      if (destination !== undefined) deps.notes?.noteFetched({ destination, id: alertId });
    },
    async toPng(svg: string): Promise<Uint8Array | undefined> {
      const result = await (await parts()).desk.draw(svg);
      return "png" in result ? result.png : undefined;
    },
    async close(): Promise<void> {
      isClosed = true;
      ended.abort();
      await (await opened)?.desk.close();
    },
  };
}

const whyNone: Record<NoAlertPicture, string> = {
  unknown_alert: "the alert is no longer stored",
  no_values: "fewer than two values are known",
  no_renderer: "what draws is not installed",
  no_font: "the font for it is not installed",
  busy: "too many pictures were being drawn",
  late: "it was not drawn in time",
  ended: "what draws has ended",
  failed: "it could not be drawn",
};

function createBudget(now: () => number): (alertId: string) => boolean {
  let since = 0;
  const alerts = new Set<string>();
  return (alertId) => {
    if (now() - since >= minuteMs || now() < since) {
      since = now();
      alerts.clear();
    }
    if (alerts.size >= mostLinks && !alerts.has(alertId)) return false;
    alerts.add(alertId);
    return true;
  };
}
