/** The chat that the benched relay delivers to: the same strict stand-in as in the tests, in a process of its own. */
import { createChatStandIn } from "../src/sandbox/chat/chat-stand-in.ts";

const chat = await createChatStandIn({
  now: Date.now,
  tokens: ["7:bench-token-bench-token"],
  chats: [{ id: "-1001", title: "Bench" }],
});
console.log(JSON.stringify({ port: chat.port }));
