import { z } from "zod";
import { Secret } from "../core/secret.ts";
import { field, listOf, readFlag, readHttpUrl, readNumber, readText } from "../ground/shape/field.ts";
import { readInternalHost } from "./http/address-policy.ts";

/** The kinds of options that vendors have. */
export const text = (example: string) => field(readText(example));
export const whole = (least: number, most: number) => field(readNumber({ least, most, whole: true }));
export const flag = field(readFlag);
export const httpUrl = field(readHttpUrl);
export const allowInternal = listOf(readInternalHost, "[10.0.0.0/8]").optional();

/** A vendor whose whole address is the secret, as those of incoming webhooks are. */
export const secretUrlOptions = { url: httpUrl, allowInternal };
const secretUrlShape = z.object(secretUrlOptions);

export function buildSecretUrl(options: z.infer<typeof secretUrlShape>) {
  return { url: new Secret(options.url), allowInternal: options.allowInternal ?? [] };
}

/** For people: addresses may hold secrets in path and query, so only the host is shown. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "(no address)";
}
