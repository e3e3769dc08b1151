// A host on the TypeScript SDK v2: either era, over Streamable HTTP and stdio.
//
//     node ts2_client.mjs PLAN
import { load } from "./packages.mjs";
import { ANSWERS, CHANGED, go, tap, within } from "./tour.mjs";

const sdk = load("@modelcontextprotocol/client");
const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");

const MODES = { legacy: "legacy", auto: "auto", modern: { pin: "2026-07-28" } };
const REQUESTS = {
    "tools/list": "listTools",
    "resources/list": "listResources",
    "resources/templates/list": "listResourceTemplates",
    "resources/read": "readResource",
    "prompts/list": "listPrompts",
    "prompts/get": "getPrompt",
    "completion/complete": "complete",
};

// A schema that lets everything through, for results that no specification knows.
const ANYTHING = {
    "~standard": { version: 1, vendor: "peers", validate: (value) => ({ value }) },
};

function transport(wire, target) {
    return wire === "stdio"
        ? new StdioClientTransport({ command: target[0], args: target.slice(1) })
        : new sdk.StreamableHTTPClientTransport(new URL(target));
}

class Host {
    asked = [];
    form = {};
    logs = [];
    frames = [];
    #notes = [];
    #noted = () => {};
    #level;
    #pipe;

    constructor({ era, offer, mute }) {
        const capabilities = mute ? {} : { elicitation: { form: {} }, sampling: {}, roots: {} };
        if (offer) capabilities.mgp = offer;
        this.client = new sdk.Client(
            { name: "ts2", version: "1" },
            { capabilities, versionNegotiation: { mode: MODES[era] } },
        );
        if (!mute) {
            this.client.setRequestHandler("elicitation/create", async ({ params }) => {
                this.asked.push(params);
                return this.form;
            });
            for (const method of ["sampling/createMessage", "roots/list"]) {
                this.client.setRequestHandler(method, async () => ANSWERS[method]);
            }
        }
        this.client.setNotificationHandler(
            "notifications/message",
            async ({ params }) => void this.logs.push(params),
        );
        for (const method of Object.values(CHANGED)) {
            this.client.setNotificationHandler(method, async (note) => {
                this.#notes.push(note);
                this.#noted();
            });
        }
    }

    async connect(wire, target) {
        this.#pipe = tap(transport(wire, target), this.frames);
        await this.client.connect(this.#pipe);
        return this;
    }

    hello() {
        return {
            name: this.client.getServerVersion()?.name ?? null,
            revision: this.client.getNegotiatedProtocolVersion(),
            instructions: this.client.getInstructions() ?? null,
            offers: Object.keys(this.client.getServerCapabilities()).sort(),
        };
    }

    get #modern() {
        return this.client.getProtocolEra() === "modern";
    }

    request(method, params) {
        if (!(method in REQUESTS)) return this.client.request({ method, params }, ANYTHING);
        return this.client[REQUESTS[method]](params);
    }

    call(name, given, { progress, meta, signal } = {}) {
        const level = this.#level && { [sdk.LOG_LEVEL_META_KEY]: this.#level };
        const _meta = { ...meta, ...level };
        return this.client.callTool(
            { name, arguments: given, ...(Object.keys(_meta).length && { _meta }) },
            { onprogress: progress, signal },
        );
    }

    async quietBelow(level) {
        if (this.#modern) this.#level = level;
        else await this.client.setLoggingLevel(level);
    }

    async watch(change, uri, during) {
        const wanted =
            change === "tools" ? { toolsListChanged: true } : { resourceSubscriptions: [uri] };
        const open = this.#modern
            ? await this.client.listen(wanted)
            : await this.client.subscribeResource({ uri });
        this.#notes.length = 0;
        const told = new Promise((resolve) => {
            this.#noted = () => {
                const found = this.#notes.find((one) => one.method === CHANGED[change]);
                if (found) resolve(found);
            };
        });
        await during();
        const note = await within(told, CHANGED[change]);
        await (this.#modern ? open.close() : this.client.unsubscribeResource({ uri }));
        return note.params?.uri ?? true;
    }

    async close() {
        if (!this.#modern) await this.#pipe.terminateSession?.();
        await this.client.close();
    }
}

await go((plan, target) => new Host(plan).connect(plan.wire, target));
