// A process of its own that runs one attack until it is ended.
import { createClient } from './client.mjs'
import { ATTACKS } from './list.mjs'

const { name, facts } = JSON.parse(process.argv[2])
const attack = ATTACKS.find((each) => each.name === name)
// an address each: what one attack was refused must not keep the next one out
const localAddress = attack.localAddress ?? `127.0.1.${1 + ATTACKS.indexOf(attack)}`
const client = createClient({ ...facts, localAddress })
process.on('message', () => process.send(client.counts, () => process.exit(0)))
process.on('disconnect', () => process.exit(0))
setInterval(() => undefined, 60_000) // an attack that only holds sockets must not end by itself
await attack.run(client, facts)
