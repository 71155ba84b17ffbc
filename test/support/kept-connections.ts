import { afterEach } from "vitest";
import { dropKeptConnections } from "./loopback.ts";

// A relay in this process, which ends behind its test, gives each a second for one more alert.
afterEach(dropKeptConnections);
