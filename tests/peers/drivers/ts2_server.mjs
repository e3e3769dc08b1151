// A guest on the TypeScript SDK v2, which serves both eras.
//
//     node ts2_server.mjs NAME [--http] [--strict] [--mgp]
//
// --http serves Streamable HTTP and prints one line `ready URL`; --strict refuses the handshake era;
// --mgp declares MGP as well, and with it come `security` and `_mgp`.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { load } from "./packages.mjs";

const sdk = load("@modelcontextprotocol/server");
const { serveStdio } = load("@modelcontextprotocol/server/stdio");

const WORDS = JSON.parse(readFileSync(new URL("guest.json", import.meta.url)));
const NOTE = "guest:///note/";
const [NAME, ...FLAGS] = process.argv.slice(2);
const MGP = FLAGS.includes("--mgp");

const grown = [];
const ends = new Map();
const watched = new Set();
let announce = { toolsChanged() {}, resourceUpdated() {} };

const done = (words, more = {}) => ({
    content: [{ type: "text", text: typeof words === "string" ? words : sorted(words) }],
    ...more,
});

function sorted(value) {
    return JSON.stringify(value, (_, one) =>
        one && typeof one === "object" && !Array.isArray(one)
            ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
            : one,
    );
}

function endOf(key) {
    if (!ends.has(key)) ends.set(key, Promise.withResolvers());
    return ends.get(key);
}

// A question that is answered already, or the result that asks it.
class Wanted {
    constructor(questions) {
        this.questions = questions;
    }
}

function known(ctx) {
    const state = JSON.parse(ctx.mcpReq.requestState() ?? "{}");
    return { ...state, ...ctx.mcpReq.inputResponses };
}

function ask(ctx, key, method, params) {
    const found = known(ctx)[key];
    if (found === undefined) throw new Wanted({ [key]: { method, params } });
    const { _meta, resultType, ...said } = found;
    return said;
}

const form = (message) => ({ mode: "form", message, requestedSchema: WORDS.form });

const TOOLS = {
    add: ({ a, b }) => done(String(a + b), { structuredContent: { sum: a + b } }),
    show: () => WORDS.show,
    refuse: () => done("It did not work", { isError: true }),
    ask: ({ question }, ctx) => done(ask(ctx, "who", "elicitation/create", form(question))),
    sample: (_, ctx) => done(ask(ctx, "word", "sampling/createMessage", WORDS.sampling)),
    places: (_, ctx) => done(ask(ctx, "places", "roots/list", {})),
    interview(_, ctx) {
        const who = ask(ctx, "who", "elicitation/create", form("Who are you?"));
        return done({ who, word: ask(ctx, "word", "sampling/createMessage", WORDS.sampling) });
    },
    async work({ key }, ctx) {
        for (const step of [1, 2, 3]) await progress(ctx, step, 3, `step ${step}`);
        for (const level of ["debug", "info", "warning"]) {
            await ctx.mcpReq.log(level, `a line of ${level}`, "guest");
        }
        await endOf(`work ${key}`).promise;
        return done("worked");
    },
    enough({ key }) {
        endOf(`work ${key}`).resolve();
        return done("enough");
    },
    async sleep({ key }, ctx) {
        await progress(ctx, 0, 1, "asleep");
        const awake = new Promise((resolve) => {
            const timer = setTimeout(() => resolve("woke up"), 10_000);
            ctx.mcpReq.signal.addEventListener("abort", () => {
                clearTimeout(timer);
                resolve("cancelled");
            });
        });
        endOf(key).resolve(await awake);
        return done("woke up");
    },
    slept: async ({ key }) => done(await endOf(key).promise),
    async grow({ name }) {
        grown.push(name);
        await announce.toolsChanged();
        return done("grown");
    },
    async touch({ name }) {
        if (watched.has(NOTE + name) || FLAGS.includes("--strict")) {
            await announce.resourceUpdated(NOTE + name);
        }
        return done("touched");
    },
    heard: () => done({ methods: [], capabilities: [] }),
    meta(_, ctx) {
        const mine = Object.entries(ctx.mcpReq._meta ?? {});
        return done(Object.fromEntries(mine.filter(([key]) => key.startsWith("guest/"))));
    },
};

async function progress(ctx, so_far, total, message) {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    if (progressToken === undefined) return;
    await ctx.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress: so_far, total, message },
    });
}

async function call({ params }, ctx) {
    const { name, arguments: given = {} } = params;
    if (grown.includes(name)) return done(`I am ${name}`);
    if (!(name in TOOLS)) throw new sdk.ProtocolError(-32602, `Unknown tool: ${name}`);
    try {
        const found = await TOOLS[name](given, ctx);
        return MGP ? { ...found, _mgp: { trace_id: "guest" } } : found;
    } catch (wanted) {
        if (!(wanted instanceof Wanted)) throw wanted;
        const requestState = JSON.stringify(known(ctx));
        return sdk.inputRequired({ inputRequests: wanted.questions, requestState });
    }
}

function tools() {
    const late = { description: "Came later", inputSchema: { type: "object" } };
    const all = [...WORDS.tools, ...grown.map((name) => ({ name, ...late }))];
    return MGP ? all.map((one) => ({ ...one, security: { risk_level: "safe" } })) : all;
}

function read({ params: { uri } }) {
    if (uri.startsWith(NOTE)) {
        const text = `Note ${uri.slice(NOTE.length)}`;
        return { contents: [{ uri, mimeType: "text/plain", text }] };
    }
    if (!(uri in WORDS.contents)) {
        throw new sdk.ProtocolError(-32602, "Resource not found", { uri });
    }
    return { contents: [WORDS.contents[uri]] };
}

function prompt({ params: { name, arguments: given } }) {
    if (name !== "greet") throw new sdk.ProtocolError(-32602, `Unknown prompt: ${name}`);
    const text = `Greet ${given.who}${given.manner ? ` ${given.manner}` : ""}`;
    const message = { role: "user", content: { type: "text", text } };
    return { description: "Greets somebody", messages: [message] };
}

function complete({ params: { argument } }) {
    const values = WORDS.people.filter((name) => name.startsWith(argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
}

function build({ era }) {
    const capabilities = {
        tools: { listChanged: true },
        resources: { subscribe: true },
        prompts: {},
        completions: {},
        logging: {},
        ...(MGP && { mgp: { version: "0.2.0", extensions: ["security", "lifecycle"] } }),
    };
    const server = new sdk.Server(
        { name: NAME, version: "1.0.0" },
        { capabilities, instructions: WORDS.instructions },
    );
    server.setRequestHandler("tools/list", () => ({ tools: tools() }));
    server.setRequestHandler("tools/call", call);
    server.setRequestHandler("resources/list", () => ({ resources: WORDS.resources }));
    server.setRequestHandler("resources/templates/list", () => ({
        resourceTemplates: WORDS.templates,
    }));
    server.setRequestHandler("resources/read", read);
    server.setRequestHandler("prompts/list", () => ({ prompts: WORDS.prompts }));
    server.setRequestHandler("prompts/get", prompt);
    server.setRequestHandler("completion/complete", complete);
    if (era === "legacy") {
        server.setRequestHandler("resources/subscribe", ({ params }) => {
            watched.add(params.uri);
            return {};
        });
        server.setRequestHandler("resources/unsubscribe", ({ params }) => {
            watched.delete(params.uri);
            return {};
        });
    }
    addOwnMethod(server);
    return server;
}

// A method that no MCP specification knows.
function addOwnMethod(server) {
    const anything = { "~standard": { version: 1, vendor: "guest", validate: (value) => ({ value }) } };
    server.setRequestHandler("guest/shout", { params: anything }, (params) => ({
        loud: String(params.words).toUpperCase(),
    }));
}

function overStdio(legacy) {
    const served = (context) => {
        const server = build(context);
        announce = {
            toolsChanged: () => server.sendToolListChanged(),
            resourceUpdated: (uri) => server.sendResourceUpdated({ uri }),
        };
        return server;
    };
    serveStdio(served, { legacy });
}

async function overHttp() {
    const handler = sdk.createMcpHandler(build, { legacy: "reject" });
    announce = handler.notify;
    const server = createServer(async (incoming, outgoing) => {
        const gone = new AbortController();
        outgoing.on("close", () => gone.abort());
        const body = incoming.method === "POST" ? Readable.toWeb(incoming) : undefined;
        const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
            method: incoming.method,
            headers: incoming.headers,
            body,
            duplex: "half",
            signal: gone.signal,
        });
        const answer = await handler.fetch(request);
        outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
        outgoing.flushHeaders();
        if (answer.body === null) outgoing.end();
        else Readable.fromWeb(answer.body).on("error", () => outgoing.destroy()).pipe(outgoing);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    process.on("SIGTERM", () => process.exit(0));
    console.log(`ready http://127.0.0.1:${server.address().port}/mcp`);
}

if (FLAGS.includes("--http")) await overHttp();
else overStdio(FLAGS.includes("--strict") ? "reject" : "serve");
