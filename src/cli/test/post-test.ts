import { hostname } from "node:os";
import type { Secret } from "../../core/secret.ts";
import type { RelayClient } from "../relay/relay-client.ts";

interface TestFacts {
  /** Of its title; the name of this machine goes behind it. */
  begins: string;
  text?: string;
  severity: string;
  /** The command that sends it. */
  source: string;
}

/** Posts one alert, marked as a test, as a sender does. Its own id and time, so that no two tests are taken for one. */
export async function postTest(client: RelayClient, secret: Secret, now: number, { begins, ...facts }: TestFacts) {
  const host = hostname();
  const eventId = `${facts.source}-${host}-${now}`;
  const body = { title: `${begins} ${host}`, ...facts, eventId, occurredAt: new Date(now).toISOString() };
  return { id: await client.postToHook(secret, body, { "x-tocsin-test": "1" }), body };
}

/** @param difference how it was stored otherwise than it was sent, see `describeStored` */
export function describeSpoiled(difference: string): string {
  return `The test ${difference}. Something in front of the relay changes what is posted.`;
}
