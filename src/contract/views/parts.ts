import { z } from "zod";
import { vendors } from "../../vendors/index.ts";

export { instant } from "../encode.ts";

/** A view is a type for the program (times in epoch milliseconds), its JSON (`encode`), and its text at `/api`. */

export const text = z.string();
export const id = text.meta({ example: "019aa5a0-7c3e-7d2a-9b1c-0242ac120002" });
export const count = z.int();
export const flag = z.boolean();
export const channel = z.enum(vendors.map(({ type }) => type));
export const health = z.enum(["ok", "degraded", "down", "dead", "paused"]);
export const bodyEncoding = z.enum(["utf8", "base64"]);
export const headers = z.array(z.tuple([text, text]));
export const view = <S extends z.ZodRawShape>(id: string, shape: S) => z.object(shape).meta({ id });
export const maybe = <S extends z.ZodRawShape>(says: string, shape: S) => z.object(shape).optional().describe(says);
export const listOf = <S extends z.ZodRawShape>(says: string, shape: S) => z.array(z.object(shape)).describe(says);
export const notReady = z.array(text).describe("Why it is not ready; empty when it is.");
