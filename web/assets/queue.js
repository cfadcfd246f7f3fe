// web/assets/queue.js: keeps the queue, the agents and a job fresh.
import { follow, paced, fetchPage, takePart } from "./live.js";

const refresh = paced(async () => takePart(await fetchPage(location.href), "#content"), 1000);

follow(["queue"], refresh);
