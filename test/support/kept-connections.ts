import { Agent, setGlobalDispatcher } from "undici";

/**
 * `fetch` keeps no connection after its answer: a relay that ends gives those that are kept a second, in which a sender may just
 * be using one. What becomes of kept ones is for tests that keep their own.
 */
setGlobalDispatcher(new Agent({ pipelining: 0 }));
