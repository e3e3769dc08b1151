// Participants of MCPx rooms, written from the text in the manner of the TypeScript ones: every envelope that comes is held against the
// whole schema of MCPx v0.1, and one that does not fit ends the program.
//
//     node ts_room.mjs client URL TOPIC TOKEN STEPS       STEPS: JSON, [{"to", "method", "params"}]; prints the results as JSON
//     node ts_room.mjs bridge URL TOPIC TOKEN COMMAND…    seats a stdio MCP server
//     node ts_room.mjs agent URL TOPIC TOKEN TEXT         answers every request that it hears, whoever it is put to
//
// A bridge and an agent print `ready NAME` and stay. The bridge knows of an answer no more than what the server said, so that its kind is
// `mcp/response:unknown`; the client takes whatever has the id of its envelope for the answer.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { load } from "./packages.mjs";

// Both come with the SDKs, in the versions of the lock file.
const WebSocket = load("ws");
const { z } = load("zod");
const [ROLE, URL_OF, TOPIC, TOKEN, ...REST] = process.argv.slice(2);

const names = z.array(z.string());
const who = z.object({ id: z.string(), capabilities: names });
const envelope = z.object({
    protocol: z.literal("mcpx/v0.1"),
    id: z.string().min(1),
    ts: z.string().refine((one) => !Number.isNaN(Date.parse(one)), "no time"),
    from: z.string().min(1),
    to: names.optional(),
    kind: z.string().min(1),
    correlation_id: z.string().optional(),
    payload: z.record(z.string(), z.any()),
});
const payloads = {
    "system/welcome": z.object({ you: who, participants: z.array(who) }),
    "system/presence": z.union([
        z.object({ event: z.literal("join"), participant: who }),
        z.object({ event: z.literal("leave"), participant: z.object({ id: z.string() }) }),
    ]),
    "system/error": z.object({
        error: z.string(),
        message: z.string(),
        attempted_kind: z.string().optional(),
        your_capabilities: names.optional(),
    }),
    chat: z.object({ text: z.string(), format: z.enum(["plain", "markdown"]).optional() }),
};

function fail(words) {
    console.error(words);
    process.exit(2);
}

class Room {
    constructor(heard) {
        this.heard = heard;
        this.here = new Set();
        this.waiting = new Map();
        this.socket = new WebSocket(`${URL_OF}?topic=${encodeURIComponent(TOPIC)}`, {
            headers: { Authorization: `Bearer ${TOKEN}` },
        });
        this.welcomed = new Promise((done) => (this.done = done));
        this.socket.on("message", (text) => this.take(String(text)));
        this.socket.on("error", (problem) => fail(`${problem}`));
        this.socket.on("close", (code, why) => fail(`closed: ${code} ${why}`));
        this.beat = setInterval(() => this.socket.ping(), 200);
        this.socket.on("pong", () => (this.alive = true));
    }

    take(text) {
        const raw = JSON.parse(text);
        const shape = payloads[raw.kind];
        const found = envelope.safeParse(raw);
        const inner = shape ? shape.safeParse(raw.payload) : { success: true };
        if (!found.success || !inner.success) fail(`${found.error ?? inner.error}: ${text}`);
        const { payload, kind } = raw;
        if (kind === "system/welcome") {
            this.me = payload.you.id;
            this.here = new Set(payload.participants.map((one) => one.id));
            this.done();
        } else if (kind === "system/presence") {
            if (payload.event === "join") this.here.add(payload.participant.id);
            else this.here.delete(payload.participant.id);
        }
        const waits = this.waiting.get(raw.correlation_id);
        if (waits && (kind.startsWith("mcp/response") || kind === "system/error")) {
            this.waiting.delete(raw.correlation_id);
            waits({ from: raw.from, kind, ...payload });
        }
        this.heard?.(raw);
    }

    say(kind, payload, more = {}) {
        const id = randomUUID();
        const head = { protocol: "mcpx/v0.1", id, ts: new Date().toISOString(), from: this.me };
        this.socket.send(JSON.stringify({ ...head, kind, payload, ...more }));
        return id;
    }

    ask(to, method, params) {
        const named = method === "tools/call" ? `:${params.name}` : "";
        const payload = { jsonrpc: "2.0", id: Math.floor(Math.random() * 1e6), method, params };
        return new Promise((done) => {
            const id = this.say(`mcp/request:${method}${named}`, payload, { to: [to] });
            this.waiting.set(id, done);
        });
    }

    leave() {
        clearInterval(this.beat);
        this.socket.removeAllListeners("close");
        this.socket.close(1000);
    }
}

async function client(steps) {
    const room = new Room();
    await room.welcomed;
    const answers = [];
    for (const { to, method, params } of steps) answers.push(await room.ask(to, method, params));
    while (!room.alive) await new Promise((go) => setTimeout(go, 20));
    console.log(JSON.stringify({ me: room.me, here: [...room.here].sort(), answers }));
    room.leave();
}

function served(command) {
    const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
    const waiting = new Map();
    let number = 0;
    createInterface({ input: child.stdout }).on("line", (line) => {
        const message = JSON.parse(line);
        waiting.get(message.id)?.(message);
        waiting.delete(message.id);
    });
    const tell = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const ask = (method, params) =>
        new Promise((done) => {
            number += 1;
            waiting.set(number, done);
            tell({ id: number, method, params });
        });
    process.on("exit", () => child.kill());
    return { ask, tell };
}

async function bridge(command) {
    const server = served(command);
    const info = { name: "bridge", version: "1" };
    await server.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: info });
    server.tell({ method: "notifications/initialized" });
    const room = new Room(async (raw) => {
        const mine = raw.from !== room.me && raw.to?.includes(room.me);
        if (!mine || !raw.kind.startsWith("mcp/request") || raw.payload.id === undefined) return;
        const { result, error } = await server.ask(raw.payload.method, raw.payload.params);
        const answer = { jsonrpc: "2.0", id: raw.payload.id, ...(error ? { error } : { result }) };
        room.say("mcp/response:unknown", answer, { to: [raw.from], correlation_id: raw.id });
    });
    await room.welcomed;
    console.log(`ready ${room.me}`);
}

async function agent(text) {
    const room = new Room((raw) => {
        if (!raw.kind.startsWith("mcp/request") || raw.payload.id === undefined) return;
        const result = { content: [{ type: "text", text }], tools: [] };
        const kind = raw.kind.replace("mcp/request", "mcp/response");
        const answer = { jsonrpc: "2.0", id: raw.payload.id, result };
        room.say(kind, answer, { to: [raw.from], correlation_id: raw.id });
    });
    await room.welcomed;
    console.log(`ready ${room.me}`);
}

process.on("SIGTERM", () => process.exit(0));
if (ROLE === "client") await client(JSON.parse(REST[0]));
else if (ROLE === "bridge") await bridge(REST);
else await agent(REST[0]);
