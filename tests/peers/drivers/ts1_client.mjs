// A host on the TypeScript SDK v1: handshake era, over each transport it has.
//
//     node ts1_client.mjs PLAN
import { load } from "./packages.mjs";
import { ANSWERS, CHANGED, go, tap, within } from "./tour.mjs";

const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const types = load("@modelcontextprotocol/sdk/types.js");

const REQUESTS = {
    "tools/list": "listTools",
    "resources/list": "listResources",
    "resources/templates/list": "listResourceTemplates",
    "resources/read": "readResource",
    "prompts/list": "listPrompts",
    "prompts/get": "getPrompt",
    "completion/complete": "complete",
};

function transport(wire, target) {
    if (wire === "stdio") {
        const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
        return new StdioClientTransport({ command: target[0], args: target.slice(1) });
    }
    const [file, name] = {
        http: ["streamableHttp", "StreamableHTTPClientTransport"],
        sse: ["sse", "SSEClientTransport"],
        websocket: ["websocket", "WebSocketClientTransport"],
    }[wire];
    return new (load(`@modelcontextprotocol/sdk/client/${file}.js`)[name])(new URL(target));
}

class Host {
    asked = [];
    form = {};
    logs = [];
    frames = [];
    #notes = [];
    #noted = () => {};
    #pipe;
    #revision;

    constructor({ offer, mute }) {
        const capabilities = mute ? {} : { elicitation: { form: {} }, sampling: {}, roots: {} };
        if (offer) capabilities.mgp = offer;
        this.client = new Client({ name: "ts1", version: "1" }, { capabilities });
        if (!mute) {
            this.client.setRequestHandler(types.ElicitRequestSchema, async ({ params }) => {
                this.asked.push(params);
                return this.form;
            });
            for (const schema of [types.CreateMessageRequestSchema, types.ListRootsRequestSchema]) {
                this.client.setRequestHandler(schema, async ({ method }) => ANSWERS[method]);
            }
        }
        this.client.setNotificationHandler(
            types.LoggingMessageNotificationSchema,
            async ({ params }) => void this.logs.push(params),
        );
        this.client.fallbackNotificationHandler = async (note) => {
            this.#notes.push(note);
            this.#noted();
        };
    }

    async connect(wire, target) {
        const pipe = tap(transport(wire, target), this.frames);
        const settle = pipe.setProtocolVersion?.bind(pipe);
        pipe.setProtocolVersion = (version) => {
            this.#revision = version;
            settle?.(version);
        };
        await this.client.connect(pipe);
        this.#pipe = pipe;
        return this;
    }

    hello() {
        return {
            name: this.client.getServerVersion().name,
            revision: this.#revision,
            instructions: this.client.getInstructions() ?? null,
            offers: Object.keys(this.client.getServerCapabilities()).sort(),
        };
    }

    request(method, params) {
        if (!(method in REQUESTS)) return this.client.request({ method, params }, types.ResultSchema);
        return this.client[REQUESTS[method]](params);
    }

    call(name, given, { progress, meta, signal } = {}) {
        const params = { name, arguments: given, ...(meta && { _meta: meta }) };
        return this.client.callTool(params, undefined, { onprogress: progress, signal });
    }

    quietBelow(level) {
        return this.client.setLoggingLevel(level);
    }

    async watch(change, uri, during) {
        await this.client.subscribeResource({ uri });
        this.#notes.length = 0;
        const told = new Promise((resolve) => {
            this.#noted = () => {
                const found = this.#notes.find((one) => one.method === CHANGED[change]);
                if (found) resolve(found);
            };
        });
        await during();
        const note = await within(told, CHANGED[change]);
        await this.client.unsubscribeResource({ uri });
        return note.params?.uri ?? true;
    }

    async close() {
        await this.#pipe.terminateSession?.();
        await this.client.close();
    }
}

await go((plan, target) => new Host(plan).connect(plan.wire, target));
