import type { z } from "zod";
import { viewAlertDetail } from "../contract/make-views.ts";
import type { evidenceView } from "../contract/views/alerts.ts";
import type { AlertDetail } from "../core/ports/alert-log.ts";
import type { WebDeps } from "./web-deps.ts";

export type Evidence = z.output<typeof evidenceView>;

/** The most alerts of the same key that it names. */
const mostKeyEvents = 100;

/**
 * All that is known of one alert in one document, for a person who has to show later what came, what was decided, and what was
 * sent. Credentials are not in it: the request is kept without those of its headers, and messages and configuration are
 * named without any.
 */
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
