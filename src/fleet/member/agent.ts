import { messageOf } from '../../errors.js'
import type { Membership, ProfileProgress, ReceivedProfile } from '../../storage/exchange/membership.js'
import { retryMs } from '../../sync/backoff.js'
import { untilBeatMs } from '../../sync/beat.js'
import { classify, shorten } from '../../sync/faults.js'
import { filesOf, installedFilesOf, itemNameOf } from '../profile/files.js'
import type { Profile } from '../profile/schema.js'
import { type ApplyDeps, applyProfile, profileOf, readProfile, retryItems } from './apply.js'
import type { FileFetcher } from './fetcher.js'
import { type HubLink, isKeyRefused, type SentProfile } from './hub-link.js'

export interface AgentDeps extends ApplyDeps {
  connect(membership: Membership): HubLink
  /** Reads what is reported of this gateway. @param profile in force */
  readReport(profile: Profile): Promise<object>
  /** Joins as the environment of the process asks for; absent when it does not. @throws as `joinHub` */
  readonly autoJoin?: ((signal: AbortSignal) => Promise<unknown>) | undefined
  /** Returns why nothing may be sent now; null when it may. */
  closedReason(): Promise<string | null>
  /** downloads of the files of profiles */
  readonly files: Pick<FileFetcher, 'prepare' | 'keepOnly'>
  /** Removes the release that a membership staged, when it has ended. */
  dropRelease(): Promise<void>
  /** Notes that the hub answered. @param version of the profile that it wants here */
  noteContact(version: number): Promise<void>
  /** Uses the settings of the profile in force. */
  useSettings(progress: ProfileProgress | undefined): void
  /** Returns a number that changes when another program has written to the state. */
  stateChanges(): Promise<number>
  /** time between two reports, ms */
  reportMs(): number
  readonly waits: { readonly baseMs: number; readonly capMs: number }
  random(): number
}

/** Side of a member: reports to the hub, and applies its profile. */
export interface FleetAgent {
  /** Reports now. Resolves when the report and what it led to are done. */
  wake(): Promise<void>
  stop(): Promise<void>
}

/** Longest time between two looks at the state, ms: a gateway that reports more often looks as often. */
const TICK_MS = 1000

interface AgentState {
  changes: number
  dueAtMs: number
  failures: number
  lastFault: string | null
  /** false until an exchange of this process has ended well */
  hasExchanged: boolean
  /** key of the last exchange: another one is used at once */
  apiKey: string | null
}

/** Starts the agent of a gateway. While the gateway is no member it compares one number each second. */
export function startFleetAgent(deps: AgentDeps): FleetAgent {
  const stopping = new AbortController()
  const state: AgentState = {
    changes: -1,
    dueAtMs: 0,
    failures: 0,
    lastFault: null,
    apiKey: null,
    hasExchanged: false,
  }
  let running: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  const run = () => {
    clearTimeout(timer)
    running = running
      .then(() => tick(deps, state, stopping.signal))
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) deps.log.warn({ err: error }, 'the membership could not be read')
      })
      .then(() => {
        clearTimeout(timer)
        if (!stopping.signal.aborted)
          timer = setTimeout(run, untilBeatMs(Math.min(TICK_MS, deps.reportMs()))).unref()
      })
    return running
  }
  void run()
  return {
    async wake() {
      state.dueAtMs = 0
      await run()
    },
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
      clearTimeout(timer)
    },
  }
}

async function tick(deps: AgentDeps, state: AgentState, signal: AbortSignal): Promise<void> {
  const changes = await deps.stateChanges()
  const isChanged = changes !== state.changes
  if (!isChanged && deps.nowMs() < state.dueAtMs) return
  state.changes = changes
  const membership = await deps.membership.find()
  const isMember = membership?.state === 'member' || membership?.state === 'refused'
  deps.useSettings(isMember ? membership.progress : undefined)
  if (isMember && (deps.nowMs() >= state.dueAtMs || membership.apiKey !== state.apiKey)) {
    state.apiKey = membership.apiKey
    await guarded(deps, state, signal, async () => {
      await attend(deps, membership, !state.hasExchanged, signal)
      state.hasExchanged = true
    })
  }
  if (membership?.state === 'left') {
    await deps.files.keepOnly([])
    await deps.dropRelease()
  }
  if (!isMember && deps.nowMs() >= state.dueAtMs) {
    const mayJoin = membership?.state !== 'left' && deps.autoJoin !== undefined
    if (mayJoin)
      await guarded(deps, state, signal, async () => {
        await deps.autoJoin?.(signal)
        await tick(deps, state, signal)
      })
    else state.dueAtMs = Number.POSITIVE_INFINITY
  }
}

/** Runs one exchange with the hub, and plans the next. */
async function guarded(
  deps: AgentDeps,
  state: AgentState,
  signal: AbortSignal,
  exchange: () => Promise<void>,
): Promise<void> {
  const closed = await deps.closedReason()
  if (closed !== null) {
    state.dueAtMs = deps.nowMs() + TICK_MS
    return
  }
  try {
    await exchange()
    state.failures = 0
    state.lastFault = null
    // half of the time is random: gateways of a fleet do not report at once
    state.dueAtMs = deps.nowMs() + deps.reportMs() * (0.75 + 0.5 * deps.random())
    state.changes = await deps.stateChanges()
  } catch (error) {
    if (signal.aborted) return
    const { retryAfterS = 0 } = classify(error)
    state.failures++
    state.dueAtMs = deps.nowMs() + retryMs(state.failures, deps.waits, retryAfterS, deps.random)
    const reason = shorten(messageOf(error))
    if (reason !== state.lastFault) deps.log.warn({ reason }, 'the hub was not reached')
    state.lastFault = reason
  }
}

/** Reports, applies what the hub answers, and reports the success. */
async function attend(
  deps: AgentDeps,
  membership: Membership,
  isFirst: boolean,
  signal: AbortSignal,
): Promise<void> {
  const link = deps.connect(membership)
  try {
    const unfinished = membership.progress.applying
    const resumed =
      unfinished === null
        ? await retryItems(deps, membership, isFirst)
        : await apply(deps, membership, unfinished.profile, signal)
    let now: Membership = { ...membership, progress: resumed ?? membership.progress }
    const sent = await report(deps, link, now, signal)
    if (sent === undefined) return
    if (sent.digest === now.progress.applied?.digest && now.progress.putBack !== null)
      await deps.membership.noteProgress({ ...now.progress, putBack: null })
    if (!isNew(now.progress, sent)) return await awaitFiles(deps, now)
    if (await waitsForFiles(deps, now, { ...sent, body: sent.body })) return
    now = { ...now, progress: await apply(deps, now, { ...sent, body: sent.body }, signal) }
    await report(deps, link, now, signal)
    await awaitFiles(deps, now)
  } finally {
    await link.close()
  }
}

/**
 * Begins to download the maps and modules of a profile. It is applied when they are all here, so that gateways on
 * slow links keep what they have meanwhile. A release holds nothing up: it is downloaded afterwards.
 *
 * @returns true while some are missing
 */
async function waitsForFiles(
  deps: AgentDeps,
  membership: Membership,
  profile: ReceivedProfile,
): Promise<boolean> {
  const read = readProfile(profile)
  const wanted = typeof read === 'string' ? [] : installedFilesOf(read)
  const items = await deps.files.prepare(membership, wanted)
  const { progress } = membership
  const fetching = items.length === 0 ? null : { version: profile.version, items }
  if (JSON.stringify(fetching) !== JSON.stringify(progress.fetching ?? null))
    await deps.membership.noteProgress({ ...progress, fetching })
  return items.length > 0
}

/**
 * Downloads files of the profile in force that are missing: a release, others after a restore. Those of another
 * one are downloaded no more.
 */
async function awaitFiles(deps: AgentDeps, membership: Membership): Promise<void> {
  const { progress } = membership
  const waiting = progress.items.filter(({ state }) => state === 'waiting').map(({ item }) => item)
  const wanted = filesOf(profileOf(progress.applied)).filter((file) => waiting.includes(itemNameOf(file)))
  await deps.files.prepare(membership, wanted)
  if (progress.fetching != null) await deps.membership.noteProgress({ ...progress, fetching: null })
}

async function apply(
  deps: AgentDeps,
  membership: Membership,
  profile: Parameters<typeof applyProfile>[2],
  signal: AbortSignal,
): Promise<ProfileProgress> {
  const progress = await applyProfile(deps, membership, profile, signal)
  deps.useSettings(progress)
  // the new files are in use, or the former ones again
  await deps.files.keepOnly(filesOf(profileOf(progress.applied)))
  return progress
}

/** @returns the profile of the answer; undefined when the hub refuses the key, which is noted */
async function report(
  deps: AgentDeps,
  link: HubLink,
  { hub, state, progress, hubUrl }: Membership,
  signal: AbortSignal,
): Promise<SentProfile | undefined> {
  const { applied, applying, putBack, items, fetching = null } = progress
  const tried = putBack?.digest ?? applied?.digest ?? null
  const isWhole = items.every((item) => item.state === 'applied')
  const outcome = putBack !== null ? 'put_back' : applied === null ? null : isWhole ? 'applied' : 'partly'
  const profile = {
    ...{ applied: applied?.digest ?? null, tried: applying === null ? tried : null, outcome },
    reason: putBack?.reason ?? null,
    items: [...items, ...(fetching?.items ?? [])].filter((item) => item.state !== 'applied').slice(0, 50),
  }
  try {
    const answer = await link.report({ report: await deps.readReport(profileOf(applied)), profile }, signal)
    if (answer.hub !== hub?.nodeId)
      throw new Error(`the node ${answer.hub} answered at ${hubUrl}, expected the hub ${hub?.nodeId}`)
    if (state === 'refused') await deps.membership.setState('member', null)
    await deps.noteContact(answer.profile.version)
    return answer.profile
  } catch (error) {
    if (!isKeyRefused(error)) throw error
    const reason =
      'the hub does not accept the key of this gateway: it was revoked, or the hub was restored from an older backup; join again with a new token'
    if (state !== 'refused') deps.log.warn({ audit: true, act: 'fleet-refused', hub: hubUrl }, reason)
    await deps.membership.setState('refused', reason)
    return undefined
  }
}

/** True for a profile that is neither in force nor was put back. */
function isNew({ applied, putBack }: ProfileProgress, { digest, body }: SentProfile): boolean {
  return body !== undefined && digest !== applied?.digest && digest !== putBack?.digest
}
