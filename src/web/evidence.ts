import type { z } from "zod";
import { viewAlertDetail } from "../contract/make-views.ts";
import type { evidenceView } from "../contract/views/alerts.ts";
import type { AlertDetail } from "../core/ports/alert-log.ts";
import type { WebDeps } from "./web-deps.ts";

export type Evidence = z.output<typeof evidenceView>;

const mostKeyEvents = 100;

/** Holds no credentials: the stored request has none in its headers, and messages and configuration have none. */
export async function collectEvidence(deps: WebDeps, alert: AlertDetail): Promise<Evidence> {
  const { store, composeAgain, configurationHash, version = "unknown", publicUrl, clock } = deps;
  const { events, hasOlder } = await store.keyHistory(alert.id, mostKeyEvents);
  return {
    madeAt: clock.now(),
    relay: { version, url: publicUrl, configurationSha256: configurationHash ?? null },
    alert: viewAlertDetail(alert, deps),
    messages: composeAgain?.(alert) ?? [],
    sameKey: { isAll: !hasOlder && events.length < mostKeyEvents / 2, alerts: events },
  };
}
