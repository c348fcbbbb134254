import { type Command, InvalidArgumentError } from 'commander'
import { readSyncStatus, type SyncStatus } from '../sync/status.js'
import { type ListedFeed, listFeeds } from './feeds/feed-data.js'
import { feedJson, feedText } from './feeds/feed-text.js'
import { addFeedCommands } from './feeds/feeds.js'
import type { CliDeps, CliIo, GlobalOptions } from './io.js'
import { printJson } from './io.js'
import { durationText, type ModelData, sizeText, withModelData } from './models/model-data.js'

/**
 * Adds the verbs of the outbox. They work beside a running gateway, which notices a change within a second.
 */
export function addSyncCommands(program: Command, io: CliIo, deps: CliDeps): void {
  const sync = program.command('sync').description('transfers to and from upstreams, and feeds of tables')
  addFeedCommands(sync, io, deps)
  const verb = (command: Command, act: (data: ModelData, isJson: boolean) => Promise<void>) =>
    withModelData<GlobalOptions>(command, deps, (data, { json }) => act(data, json === true))
  sync
    .command('status')
    .description('prints waiting transfers and feeds, and what would be lost with this device')
    .action(async (_options, command: Command) => verb(command, (data, isJson) => status(io, data, isJson)))
  sync
    .command('retry')
    .description('retries a transfer now, or all waiting ones')
    .argument('[transfer]', 'id of a transfer; a failed one is queued again', readId)
    .action(async (transferId: number | undefined, _options, command: Command) =>
      verb(command, (data, isJson) => retry(io, data, transferId, isJson)),
    )
  sync
    .command('cancel')
    .description('cancels a transfer; the model stays on this device')
    .argument('<transfer>', 'id of a transfer', readId)
    .action(async (transferId: number, _options, command: Command) =>
      verb(command, (data, isJson) => cancel(io, data, transferId, isJson)),
    )
  for (const isPaused of [true, false]) {
    sync
      .command(isPaused ? 'pause' : 'resume')
      .description(
        isPaused ? 'stops sending and fetching until `sync resume`' : 'resumes sending and fetching',
      )
      .action(async (_options, command: Command) =>
        verb(command, async ({ state }, isJson) => {
          await state.control.setPaused(isPaused)
          await state.audit.note({ act: isPaused ? 'sync-pause' : 'sync-resume' })
          if (isJson) printJson(io, { paused: isPaused })
          else io.stdout.write(isPaused ? 'Paused: models wait on this device.\n' : 'Resumed.\n')
        }),
      )
  }
}

async function status(io: CliIo, data: ModelData, isJson: boolean): Promise<void> {
  const found = await readSyncStatus({ ...data.state, nowUs: data.state.clock.nowUs() })
  const feeds = await listFeeds(data)
  if (isJson) printJson(io, { ...found, feeds: feeds.map(feedJson) })
  else io.stdout.write(statusText(found, feeds))
}

function statusText(
  { isPaused, counts, atRisk, upstreams }: SyncStatus,
  feeds: readonly ListedFeed[],
): string {
  const rows = feeds
    .filter(({ record }) => record.direction === 'up')
    .reduce((sum, { status, setAside }) => sum + status.rowsBehind + setAside, 0)
  const lines = [
    `${isPaused ? 'PAUSED. ' : ''}Transfers: ${counts.queued} queued, ${counts.sending} sending, ${counts.delivered} delivered, ${counts.failed} failed.`,
    ...(atRisk.models === 0 && rows === 0 ? ['Nothing would be lost with this device.'] : []),
    ...(rows === 0 ? [] : [`${rows} rows of tables with feeds would be lost with this device.`]),
  ]
  if (atRisk.models > 0) {
    lines.push(
      `${atRisk.models} models (${sizeText(atRisk.bytes)}) would be lost with this device; the oldest has waited ${durationText(atRisk.oldestS ?? 0)}.`,
      atRisk.timeLeftS === null
        ? 'No rate was measured yet.'
        : `${durationText(atRisk.timeLeftS)} left at ${sizeText(atRisk.bytesPerSecond ?? 0)}/s.`,
    )
  }
  for (const lane of upstreams) {
    const error = lane.lastError === null ? '' : `; last error: ${lane.lastError}`
    lines.push(
      `  upstream ${lane.upstreamId} ${lane.kind} of ${lane.store} to ${lane.endpoint}: ${lane.waiting} (${sizeText(lane.bytes)}), oldest ${durationText(lane.oldestS)}${error}`,
    )
  }
  return `${[...lines, ...feeds.map(feedText)].join('\n')}\n`
}

async function retry(
  io: CliIo,
  data: ModelData,
  transferId: number | undefined,
  isJson: boolean,
): Promise<void> {
  if (transferId !== undefined) {
    const transfer = await data.state.transfers.retry(transferId)
    if (transfer === undefined) throw unknown(transferId)
    if (transfer.state === 'delivered') throw new Error(`transfer ${transferId} is already delivered`)
  }
  await data.state.control.askNow()
  if (isJson) printJson(io, { retried: transferId ?? 'all' })
  else io.stdout.write('A running gateway retries within a second.\n')
}

async function cancel(io: CliIo, data: ModelData, transferId: number, isJson: boolean): Promise<void> {
  const transfer = await data.state.transfers.cancel(transferId)
  if (transfer === undefined) throw unknown(transferId)
  if (transfer.state === 'delivered') throw new Error(`transfer ${transferId} is already delivered`)
  await data.state.audit.note({ act: 'sync-cancel', transferId })
  if (isJson) printJson(io, { cancelled: transferId })
  else io.stdout.write(`Transfer ${transferId} is cancelled; its model stays here.\n`)
}

function unknown(transferId: number): Error {
  return new Error(
    `no transfer has the id ${transferId}: \`fieldgate sync status\` and fl.list_transfers list them`,
  )
}

function readId(text: string): number {
  if (!/^[1-9]\d{0,15}$/.test(text))
    throw new InvalidArgumentError('Expected the id of a transfer, a whole number.')
  return Number(text)
}
