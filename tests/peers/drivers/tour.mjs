// A visit to a guest through the gateway: the same as tour.py, step by step, for hosts that run in Node.
//
// A host is an adapter of one SDK's client:
//   hello()                          what the gateway said of itself
//   request(method, params)          a wire result; errors carry `code`
//   call(name, given, {progress, meta, signal})
//   quietBelow(level)                from now on only log lines of that weight
//   watch(change, uri, during)       what it is told of `CHANGED[change]` while `during` runs, or soon after
//   cancelled(error)                 whether a call failed because it was given up
//   asked, form, logs, frames        see tour.py

export const DEADLINE_MS = 20_000;
export const CHANGED = {
    resource: "notifications/resources/updated",
    tools: "notifications/tools/list_changed",
};
export const ANSWERS = {
    "sampling/createMessage": {
        role: "assistant",
        content: { type: "text", text: "word" },
        model: "a-model",
        stopReason: "endTurn",
    },
    "roots/list": { roots: [{ uri: "file:///home/somebody", name: "home" }] },
};
const OURS = ["guest/", "dev.cloto/"];
const MARK = { "guest/mark": { kept: [1, null] } };
const FORMS = {
    accept: { action: "accept", content: { name: "Ada", age: 36 } },
    decline: { action: "decline" },
    cancel: { action: "cancel" },
};

export async function within(promise, what, ms = DEADLINE_MS) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`TimeoutError: ${what}`)), ms);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

// Write down every message that a transport delivers, whoever takes it.
export function tap(pipe, frames) {
    let taker;
    Object.defineProperty(pipe, "onmessage", {
        set: (given) => (taker = given),
        get() {
            const current = taker;
            return current && ((message, extra) => (frames.push(message), current(message, extra)));
        },
    });
    return pipe;
}

class Visit {
    // One server behind one endpoint; see tour.py.
    constructor(host, { server, key, prefix = "", steps = null, script = null, name = "Ada" }) {
        Object.assign(this, { host, server, key, prefix, steps, script, name });
    }

    own(found) {
        return found
            .filter((one) => one.name.startsWith(this.prefix))
            .map((one) => ({ ...one, name: one.name.slice(this.prefix.length) }));
    }

    here(found, member) {
        const start = this.prefix ? `gatewright://${this.server}/` : "";
        return found.filter((one) => one[member].startsWith(start));
    }

    async call(name, given = {}, more = {}) {
        return said(await this.host.call(this.prefix + name, given, more));
    }

    async text(name, given = {}, more = {}) {
        const { text } = (await this.call(name, given, more)).content[0];
        try {
            return JSON.parse(text);
        } catch {
            return text;
        }
    }
}

function said(result) {
    const found = { ...result };
    const added = ["resultType", "ttlMs", "cacheScope", "nextCursor"];
    for (const [key, value] of Object.entries(found)) {
        if (value === undefined || value === null || added.includes(key)) delete found[key];
    }
    const meta = Object.entries(found._meta ?? {});
    const kept = meta.filter(([key]) => OURS.some((one) => key.startsWith(one)));
    delete found._meta;
    if (kept.length) found._meta = Object.fromEntries(kept);
    if (found.isError === false) delete found.isError;
    return found;
}

const EXTENSION = "dev.cloto/mgp";
const MGP = ["mgp", "_mgp", "security", EXTENSION, "dev.cloto/security"];

export function mgpMembers(value, path = "") {
    if (Array.isArray(value)) return value.flatMap((one) => mgpMembers(one, path));
    if (value === null || typeof value !== "object") return [];
    return Object.entries(value).flatMap(([key, one]) => {
        const hit = MGP.includes(key) || (key === "method" && String(one).includes("mgp"));
        return [...(hit ? [`${path}/${key}`] : []), ...mgpMembers(one, `${path}/${key}`)];
    });
}

// The answer to the host's MGP offer, by the place where it stood.
function mgpReply(frames) {
    const told = frames.find((one) => one?.result?.capabilities)?.result.capabilities ?? {};
    const places = {
        mgp: told.mgp,
        experimental: told.experimental?.mgp,
        extensions: told.extensions?.[EXTENSION],
    };
    return Object.fromEntries(Object.entries(places).filter(([, body]) => body !== undefined));
}

async function code(promise) {
    try {
        return await promise;
    } catch (problem) {
        if (problem.code === undefined) throw problem;
        return problem.code;
    }
}

const STEPS = {
    async script(visit) {
        visit.host.form = { action: "accept", content: { name: visit.name } };
        visit.host.asked.length = 0;
        const answers = [];
        for (const [method, params] of visit.script) {
            answers.push(await code(ask(visit, method, params)));
        }
        return { answers, asked: visit.host.asked.map(said) };
    },

    async tools(visit) {
        const { tools } = await visit.host.request("tools/list");
        return visit.own(tools).map(said).filter((one) => !one.name.startsWith("late_"));
    },

    async results(visit) {
        return {
            add: await visit.call("add", { a: 2, b: 3 }),
            show: await visit.call("show"),
            refuse: await visit.call("refuse"),
            meta: await visit.text("meta", {}, { meta: MARK }),
            unknown: await code(visit.call("nothing_of_that_name")),
        };
    },

    async questions(visit) {
        const seen = {};
        visit.host.asked.length = 0;
        for (const [action, form] of Object.entries(FORMS)) {
            visit.host.form = form;
            seen[action] = await visit.text("ask", { question: `Please ${action}` });
        }
        visit.host.form = FORMS.accept;
        seen.sample = await visit.text("sample");
        seen.places = await visit.text("places");
        seen.interview = await visit.text("interview");
        seen.asked = visit.host.asked.map(said);
        return seen;
    },

    async work(visit) {
        await visit.host.quietBelow("info");
        visit.host.logs.length = 0;
        const steps = [];
        const key = { key: visit.key };
        let call;
        await new Promise((allSeen) => {
            const progress = (one) => {
                steps.push([one.progress, one.total, one.message]);
                if (one.progress === one.total) allSeen();
            };
            call = visit.call("work", key, { progress });
        });
        while (visit.host.logs.length < 2) await new Promise((next) => setTimeout(next, 10));
        await visit.call("enough", key);
        return { result: await call, progress: steps, logs: [...visit.host.logs] };
    },

    async resources(visit) {
        const read = (uri) => visit.host.request("resources/read", { uri });
        const listed = visit.here((await visit.host.request("resources/list")).resources, "uri");
        const templates = await noteTemplates(visit);
        const uris = Object.fromEntries(listed.map((one) => [one.name, one.uri]));
        return {
            list: listed.map(said),
            templates: templates.map(said),
            alpha: said(await read(uris.alpha)),
            pixel: said(await read(uris.pixel)),
            note: said(await read(templates[0].uriTemplate.replace("{name}", "of%20mine"))),
            nowhere: await code(read(uris.alpha.replace("alpha", "nowhere"))),
        };
    },

    async prompts(visit) {
        const listed = visit.own((await visit.host.request("prompts/list")).prompts);
        const name = `${visit.prefix}greet`;
        const ref = { type: "ref/prompt", name };
        const asked = { ref, argument: { name: "who", value: "al" } };
        const given = { name, arguments: { who: "Ada", manner: "warmly" } };
        return {
            list: listed.map(said),
            get: said(await visit.host.request("prompts/get", given)),
            complete: said(await visit.host.request("completion/complete", asked)),
        };
    },

    async changes(visit) {
        const template = (await noteTemplates(visit))[0].uriTemplate;
        const uri = template.replace("{name}", visit.key);
        const late = `late_${visit.key}`;
        const touch = () => visit.call("touch", { name: visit.key });
        const grow = () => visit.call("grow", { name: late });
        const touched = (await visit.host.watch("resource", uri, touch)) === uri;
        const grown = await visit.host.watch("tools", uri, grow);
        const { tools } = await visit.host.request("tools/list");
        const listed = visit.own(tools).some((one) => one.name === late);
        return { touched, grown, listed, late: await visit.text(late) };
    },

    async cancelled(visit) {
        const giveUp = new AbortController();
        const key = { key: visit.key };
        const asleep = new Promise((resolve) => {
            visit
                .call("sleep", key, { progress: resolve, signal: giveUp.signal })
                .then((found) => resolve(`it ended before: ${JSON.stringify(found)}`), () => {});
        });
        const early = await asleep;
        if (typeof early === "string") return early;
        giveUp.abort("enough");
        return visit.text("slept", key);
    },
};

async function ask(visit, method, params) {
    if (method !== "tools/call") return said(await visit.host.request(method, params));
    const steps = [];
    const progress = (one) => steps.push([one.progress, one.total]);
    const found = await visit.call(params.name, params.arguments, { progress });
    return steps.length ? { ...found, progress: steps } : found;
}

async function noteTemplates(visit) {
    const found = await visit.host.request("resources/templates/list");
    return visit.here(found.resourceTemplates, "uriTemplate");
}

async function tour(visit) {
    const seen = { hello: visit.host.hello() };
    const wanted = visit.script ? ["script"] : (visit.steps ?? Object.keys(STEPS).slice(1));
    for (const [name, step] of Object.entries(STEPS)) {
        if (!wanted.includes(name)) continue;
        try {
            seen[name] = await within(step(visit), name);
        } catch (problem) {
            seen[name] = `${problem.name}: ${problem.message} (${problem.code})`;
        }
    }
    return seen;
}

// Make the tours that the command line asks for, as JSON, and print what was seen as one line.
export async function go(connect) {
    const plan = JSON.parse(process.argv[2]);
    const seen = {};
    for (const { target, visits } of plan.connections) {
        const host = await within(connect(plan, target), "connect");
        for (const one of visits) {
            const visit = new Visit(host, { name: plan.name, ...one });
            seen[visit.server] = await tour(visit);
            if (plan.offer) seen[visit.server].reply = mgpReply(host.frames);
            else seen[visit.server].mgp = mgpMembers(host.frames);
        }
        await within(host.close(), "close");
    }
    process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit(0));
}
