import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { parseDatetime } from '../../datetime.js'
import {
  createCitationFeed,
  createDownFeed,
  createFeedRecord,
  type NewFeed,
} from '../../feeds/create-feed.js'
import type { FeedRecord } from '../../storage/exchange/feeds.js'
import { baseUrlOf } from '../../sync/endpoint.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from '../io.js'
import { withModelData } from '../models/model-data.js'
import { type FeedData, listFeeds, withFeedData } from './feed-data.js'
import { feedJson, feedText } from './feed-text.js'
import { addProofVerbs } from './proof.js'

/** Name of an upstream. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

/** Adds the verbs of feeds and their upstreams below `sync`. They work beside a running gateway. */
export function addFeedCommands(sync: Command, io: CliIo, deps: CliDeps): void {
  addUpstreamVerbs(sync.command('upstream').description('gateways to which feeds of tables go'), io, deps)
  addFeedVerbs(sync.command('feed').description('tables that are sent to another gateway'), io, deps)
}

interface UpstreamFlags {
  endpoint?: string
  keyFile?: string
  network: boolean
}

function addUpstreamVerbs(upstream: Command, io: CliIo, deps: CliDeps): void {
  upstream
    .command('add')
    .description('adds a gateway to which feeds of tables may go')
    .argument('<name>', 'name for it here', readName)
    .option('--endpoint <url>', 'base URL of the other gateway')
    .option(
      '--key-file <file>',
      'JSON of a key there with the scope sync:write, as `fieldgate key create --json` prints it; - for stdin',
    )
    .option('--no-network', 'without both: feeds go there in bundles alone')
    .action(async (name: string, _options, command: Command) =>
      withModelData<UpstreamFlags>(command, deps, async ({ state, settings }, flags) => {
        const { endpoint, ...key } = readAddress(flags, settings.config.sync.allowInsecure)
        const made = await state.feedUpstreams.create({ name, endpoint, ...key })
        if (made === undefined) throw new Error(`an upstream with the name ${name} exists`)
        await state.audit.note({ act: 'sync-upstream-add', name })
        if (flags.json === true) printJson(io, { name, endpoint })
        else
          io.stdout.write(`Feeds can go to ${name} ${endpoint === '' ? 'in bundles' : `at ${endpoint}`}.\n`)
      }),
    )
  upstream
    .command('list')
    .description('prints the upstreams of feeds, without secrets')
    .action(async (_options, command: Command) =>
      withModelData(command, deps, async ({ state }, { json }) => {
        const found = (await state.feedUpstreams.list()).map(({ name, endpoint }) => ({ name, endpoint }))
        if (json === true) printJson(io, found)
        else for (const { name, endpoint } of found) io.stdout.write(`${name}  ${endpoint || 'in bundles'}\n`)
      }),
    )
  upstream
    .command('remove')
    .description('removes an upstream that no feed uses')
    .argument('<name>', 'name of an upstream')
    .action(async (name: string, _options, command: Command) =>
      withModelData(command, deps, async ({ state }, { json }) => {
        const feeds = (await state.feeds.list()).filter((feed) => feed.upstream === name)
        if (feeds.length > 0)
          throw new Error(
            `feeds of ${feeds.map(({ dataName }) => dataName).join(', ')} go to ${name}: remove them first`,
          )
        if ((await state.feedUpstreams.remove(name)) === undefined)
          throw new Error(`no upstream has the name ${name}`)
        await state.audit.note({ act: 'sync-upstream-remove', name })
        if (json === true) printJson(io, { removed: name })
        else io.stdout.write(`${name} is removed.\n`)
      }),
    )
}

interface FeedFlags {
  to: string
  down?: boolean
  citation?: boolean
  from: string
  columns?: string[]
  conds?: unknown
  priority: number
  maxBytesPerSecond: number
  window?: string[]
}

function addFeedVerbs(feed: Command, io: CliIo, deps: CliDeps): void {
  addProofVerbs(feed, io, deps)
  feed
    .command('add')
    .description(
      'sends the rows of a table to another gateway, or fetches them there, as they are put and overridden',
    )
    .argument('<table>', 'name of the table, or of a citation')
    .requiredOption('--to <upstream>', 'name of an upstream')
    .option('--citation', 'sends the citation of this name, once and whole')
    .option('--down', 'fetch the rows from the upstream; the table is registered here as it is there')
    .option('--from <when>', 'now, all, or an instant: rows that start then or later, too', 'now')
    .option('--columns <column...>', 'columns that are sent, the unique key among them (default: all)')
    .option('--conds <json>', 'condition on rows, as of event data', readJson)
    .option('--priority <0-9>', 'feeds with a larger number go first', readDigit, 5)
    .option('--max-bytes-per-second <bytes>', 'rate of this feed; 0 for no limit of its own', readCount, 0)
    .option('--window <HH:MM-HH:MM...>', 'local times in which it is sent (default: always)', collectWindow)
    .action(async (table: string, _options, command: Command) =>
      withFeedData<FeedFlags>(command, deps, (data, flags) => addFeed(io, data, table, flags)),
    )
  feed
    .command('list')
    .description('prints the feeds of tables, and how far they are')
    .action(async (_options, command: Command) =>
      withModelData(command, deps, async (data, { json }) => {
        const found = await listFeeds(data)
        if (json === true) printJson(io, found.map(feedJson))
        else io.stdout.write(found.map((one) => `${feedText(one).trim()}\n`).join(''))
      }),
    )
  feed
    .command('remove')
    .description('removes a feed; what the other gateway has stays there')
    .argument('<feed>', 'id of a feed')
    .action(async (feedId: string, _options, command: Command) =>
      withModelData(command, deps, async ({ state }, { json }) => {
        const removed = await state.feeds.remove(feedId)
        if (removed === undefined)
          throw new Error(`no feed has the id ${feedId}: \`fieldgate sync feed list\``)
        await state.audit.note({ act: 'sync-feed-remove', feed: feedId, table: removed.dataName })
        if (json === true) printJson(io, { removed: feedId })
        else io.stdout.write(`The feed of ${removed.dataName} to ${removed.upstream} is removed.\n`)
      }),
    )
}

async function addFeed(
  io: CliIo,
  data: FeedData,
  name: string,
  flags: FeedFlags & GlobalOptions,
): Promise<void> {
  const { state, timeZoneMin } = data
  if ((await state.feedUpstreams.find(flags.to)) === undefined)
    throw new Error(`no upstream has the name ${flags.to}: \`fieldgate sync upstream add\` adds it`)
  const feed: NewFeed = {
    ...{ upstream: flags.to, conds: flags.conds ?? null, columns: flags.columns ?? null },
    ...{ priority: flags.priority, maxBytesPerSecond: flags.maxBytesPerSecond },
    ...{ windows: flags.window ?? [], from: readFrom(flags.from, timeZoneMin) },
  }
  const made =
    flags.citation === true
      ? await addCitation(data, name, feed, flags)
      : await addTable(data, name, feed, flags.down === true)
  const { feedId, dataName, direction } = made
  await state.audit.note({ act: 'sync-feed-add', feed: feedId, table: dataName, direction })
  if (flags.json === true) printJson(io, { feed: feedId, table: dataName, upstream: flags.to, direction })
  else
    io.stdout.write(
      `Feed ${feedId}: ${dataName} ${direction === 'down' ? 'comes from' : 'goes to'} ${flags.to}.\n`,
    )
}

async function addTable(data: FeedData, name: string, feed: NewFeed, isDown: boolean): Promise<FeedRecord> {
  const { state, tableChanges, feedIdentity, timeZoneMin } = data
  const table = await data.findTable(name)
  if (table === undefined && !isDown) throw new Error(`no table has the name ${name}`)
  const env = { timeZoneMin, nowUs: BigInt(state.clock.nowUs()) }
  if (table !== undefined)
    // checks the condition
    await tableChanges.matching(table, await tableChanges.last(table), 1, { conds: feed.conds, env })
  const deps = { feeds: state.feeds, identity: feedIdentity, changes: tableChanges, newId: randomUUID }
  return isDown || table === undefined
    ? await createDownFeed({ ...feed, dataName: table?.dataName ?? name }, deps)
    : await createFeedRecord({ ...feed, table }, deps)
}

async function addCitation(
  { state, findCitation }: FeedData,
  name: string,
  feed: NewFeed,
  { down, conds, columns }: FeedFlags,
): Promise<FeedRecord> {
  if (down === true || conds !== undefined || columns !== undefined)
    throw usageError('A citation is sent whole: found --down, --conds or --columns beside --citation')
  const citation = await findCitation(name)
  if (citation === undefined) throw new Error(`no citation has the name ${name}`)
  const deps = { feeds: state.feeds, newId: randomUUID }
  return await createCitationFeed({ ...feed, from: 'all', citation }, deps)
}

function readFrom(text: string, timeZoneMin: number): NewFeed['from'] {
  if (text === 'now' || text === 'all') return text
  const us = parseDatetime(text, timeZoneMin)
  if (typeof us === 'bigint') return { text, us: Number(us) }
  throw usageError(`--from: found ${us.found}, expected now, all or ${us.expected}`)
}

/** Returns address and key of an upstream; all are empty for one without a network. */
function readAddress(
  { endpoint, keyFile, network }: UpstreamFlags,
  allowInsecure: readonly string[],
): { endpoint: string; apikey: string; secret: string } {
  if (network && endpoint !== undefined && keyFile !== undefined)
    return { endpoint: baseUrlOf(endpoint, allowInsecure), ...readKey(keyFile) }
  if (!network && endpoint === undefined && keyFile === undefined)
    return { endpoint: '', apikey: '', secret: '' }
  const found = [
    ...(endpoint === undefined ? [] : ['--endpoint']),
    ...(keyFile === undefined ? [] : ['--key-file']),
    ...(network ? [] : ['--no-network']),
  ]
  throw usageError(
    `found ${found.join(' and ') || 'none of them'}, expected --endpoint and --key-file, or --no-network alone`,
  )
}

/** Reads a key as `key create --json` prints it. A secret in an argument would be seen by every user. */
function readKey(file: string): { apikey: string; secret: string } {
  const text = readFileSync(file === '-' ? 0 : file, 'utf8')
  const json: unknown = JSON.parse(text)
  const { apiKey, secret } = (typeof json === 'object' && json !== null ? json : {}) as Record<
    string,
    unknown
  >
  if (typeof apiKey === 'string' && typeof secret === 'string') return { apikey: apiKey, secret }
  throw new Error(`${file}: found no apiKey and secret, expected the JSON of \`fieldgate key create --json\``)
}

function readName(text: string): string {
  if (NAME.test(text)) return text
  throw new InvalidArgumentError('Expected 1 to 63 letters, digits or any of . _ -')
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('Expected JSON.')
  }
}

function readDigit(text: string): number {
  if (/^\d$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a number from 0 to 9.')
}

function readCount(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number, 0 or more.')
}

function collectWindow(text: string, earlier: readonly string[] = []): string[] {
  if (/^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$/.test(text)) return [...earlier, text]
  throw new InvalidArgumentError('Expected HH:MM-HH:MM.')
}
