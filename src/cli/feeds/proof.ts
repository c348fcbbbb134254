import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { parseDatetime } from '../../datetime.js'
import { daysBetween, dayText } from '../../feeds/batch/days.js'
import { connectUpstream } from '../../feeds/connect.js'
import { askResend } from '../../feeds/send/resend.js'
import { askResendDown } from '../../feeds/verify/resend-down.js'
import { type Verification, type VerifyDeps, verifyFeed } from '../../feeds/verify/verify.js'
import type { FeedRecord } from '../../storage/exchange/feeds.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson, usageError } from '../io.js'
import { type FeedData, withFeedData } from './feed-data.js'

/** Adds the verbs that compare a table with what its receiver has, and send rows again. */
export function addProofVerbs(feed: Command, io: CliIo, deps: CliDeps): void {
  feed
    .command('verify')
    .description('compares a table with what the other gateway has of it; exit code 1 when they differ')
    .argument('<feed>', 'id of a feed, or the table of a single one')
    .option('--recount', 'counts all rows again on both sides, where a disk is in doubt')
    .action(async (name: string, _options, command: Command) =>
      withFeedData<{ recount?: boolean }>(command, deps, (data, flags) =>
        verify(io, deps, data, name, flags),
      ),
    )
  feed
    .command('resend')
    .description('sends rows once more that were last written on some days; the receiver keeps one of each')
    .argument('<feed>', 'id of a feed, or the table of a single one')
    .requiredOption('--from <instant>', 'first UTC day, or an instant of it')
    .requiredOption('--to <instant>', 'end: the day that begins at midnight then is left out')
    .action(async (name: string, _options, command: Command) =>
      withFeedData<{ from: string; to: string }>(command, deps, (data, flags) =>
        resend(io, deps, data, name, flags),
      ),
    )
}

async function verify(
  io: CliIo,
  { version }: CliDeps,
  data: FeedData,
  name: string,
  { recount, json }: { recount?: boolean } & GlobalOptions,
): Promise<void> {
  const record = await findFeed(data, name)
  const found = await verifyFeed(await verifyDeps(data, version), record, recount === true, noEnd())
  if (json === true)
    printJson(io, { equal: found.isEqual, days: found.days, removed_days: found.removedDays })
  else io.stdout.write(verificationText(record, found))
  if (!found.isEqual) io.setExitCode(1)
}

/** Makes what a comparison uses of a data directory. */
async function verifyDeps(data: FeedData, version: string): Promise<VerifyDeps> {
  const { state, settings, tableDigests: digests, tableChanges: changes, feedIdentity: identity } = data
  return {
    ...{ digests, changes, identity, findTable: data.findTable, env: () => envOf(data) },
    nodeId: await state.meta.claimNodeId(randomUUID()),
    connect: async (upstream) => {
      const found = await state.feedUpstreams.find(upstream)
      if (found === undefined) throw new Error(`no upstream has the name ${upstream}`) // no test: a foreign key keeps it
      return connectUpstream(found, settings.config, version)
    },
    findFeed: (feedId) => state.feeds.find(feedId),
    progress: async (feedId) => (await state.feeds.find(feedId))?.progress,
    nowMs: () => performance.now(),
    pause: async (ms, signal) => {
      await sleep(ms, undefined, { signal })
    },
  }
}

/** Shortest beginning of a digest that is shown. */
const SHOWN_HEX = 12

function verificationText(
  { dataName, upstream, feedId }: FeedRecord,
  { isEqual, days, removedDays }: Verification,
): string {
  const count = removedDays.length
  const rest = count === 0 ? '' : `, but for ${count} days of which retention has removed rows`
  if (isEqual) return `${dataName} is the same at ${upstream}${rest}.\n`
  const rows = days.map(({ day, origin, here, there }) =>
    [
      ...[day, origin, `${here.rows}`.padStart(9), `${there.rows}`.padStart(9)],
      ...[here.digest.slice(0, SHOWN_HEX), there.digest.slice(0, SHOWN_HEX)],
    ].join('  '),
  )
  const head = `day         ${'origin'.padEnd(36)}  ${'rows here'}  ${'    there'}  ${'digest here'.padEnd(SHOWN_HEX)}  there`
  const [first, last] = [days[0]?.day, days.at(-1)?.day]
  const next = `The rows go once more with: fieldgate sync feed resend ${feedId} --from ${first} --to ${dayAfter(last)}`
  return `${dataName} differs at ${upstream} in ${days.length} days:\n${[head, ...rows].join('\n')}\n${next}\n`
}

function dayAfter(day = ''): string {
  const us = parseDatetime(day, 0)
  return typeof us === 'bigint' ? dayText(Number(us / 86_400_000_000n) + 1) : day
}

async function resend(
  io: CliIo,
  { version }: CliDeps,
  data: FeedData,
  name: string,
  { from, to, json }: { from: string; to: string } & GlobalOptions,
): Promise<void> {
  const { state, tableChanges: changes, feedIdentity: identity } = data
  const record = await findFeed(data, name)
  const [fromUs, toUs] = [readInstant('--from', from), readInstant('--to', to)]
  if (toUs < fromUs) throw usageError('--to: found an instant before --from, expected --from or later')
  const wanted = daysBetween(fromUs, toUs)
  const [resends, env] = [state.feedResends, () => envOf(data)]
  const asked =
    record.direction === 'down'
      ? await askResendDown({ ...(await verifyDeps(data, version)), resends }, record, wanted, noEnd())
      : await askResend({ resends, identity, changes, findTable: data.findTable, env }, record, wanted)
  await state.control.askNow()
  await state.audit.note({ act: 'sync-feed-resend', feed: record.feedId, rows: asked.rows })
  const days = { fromDay: dayText(asked.fromDay), toDay: dayText(asked.toDay) }
  if (json === true) printJson(io, { feed: record.feedId, rows: asked.rows, ...days })
  else io.stdout.write(`${asked.rows} rows of ${days.fromDay} to ${days.toDay} go once more.\n`)
}

/** Makes the signal of a verb, which ends with its process. */
function noEnd(): AbortSignal {
  return new AbortController().signal
}

/** Reads an instant; one without an offset is UTC, as the days of rows are. */
function readInstant(flag: string, text: string): bigint {
  const us = parseDatetime(text, 0)
  if (typeof us === 'bigint') return us
  throw usageError(`${flag}: found ${us.found}, expected ${us.expected}`)
}

async function findFeed({ state }: FeedData, name: string): Promise<FeedRecord> {
  const feeds = await state.feeds.list()
  const found = feeds.filter(({ feedId, dataName }) => feedId === name || dataName === name)
  const [only, ...others] = found
  if (only !== undefined && others.length === 0) return only
  const many = found.map(({ feedId, upstream }) => `${feedId} (${upstream})`).join(', ')
  if (only !== undefined)
    throw new Error(`the table ${name} has several feeds, expected the id of one: ${many}`)
  throw new Error(`no feed has the id or the table ${name}: \`fieldgate sync feed list\``)
}

function envOf({ state, timeZoneMin }: FeedData) {
  return { timeZoneMin, nowUs: BigInt(state.clock.nowUs()) }
}
