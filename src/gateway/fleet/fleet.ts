import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatSecret } from '../../auth/secret.js'
import type { Config } from '../../config/config.js'
import type { DiskSpace } from '../../files/disk-space.js'
import { type FleetAgent, startFleetAgent } from '../../fleet/member/agent.js'
import { profileOf } from '../../fleet/member/apply.js'
import { createHubLink } from '../../fleet/member/hub-link.js'
import { type JoinHubDeps, joinHub } from '../../fleet/member/join-hub.js'
import { type ReconcileDeps, reconcile } from '../../fleet/member/reconcile.js'
import type { ReleaseStage } from '../../fleet/member/stage-release.js'
import type { Profile } from '../../fleet/profile/schema.js'
import type { PartState } from '../../http/health-routes.js'
import { openNodeKeys } from '../../node-keys/keys.js'
import { CONTACT, contactText } from '../../storage/exchange/contact.js'
import type { Membership } from '../../storage/exchange/membership.js'
import type { State } from '../../storage/state.js'
import { baseUrlOf } from '../../sync/endpoint.js'
import { createUpstreamClient } from '../../sync/http-client.js'
import { clientSettings, closedReasonOf } from '../../sync/open-outbox.js'
import type { Throttle } from '../../sync/throttle.js'
import type { FeedServices } from '../exchange/feeds.js'
import type { ModelServices } from '../exchange/models.js'
import type { LiveSettings } from '../live-settings.js'
import type { MapLoading } from '../maps/maps.js'
import type { ServicesOptions } from '../options.js'
import { openInstallDeps, openMemberFiles, openReleaseStage } from './files.js'
import { createDoctorLine, lastPosition } from './own-report.js'

interface MemberOptions
  extends Pick<ServicesOptions, 'log' | 'version' | 'join' | 'config' | 'layout' | 'configFile'> {
  readonly state: State
  readonly live: LiveSettings
  readonly models: ModelServices
  readonly feeds: FeedServices
  readonly disk: DiskSpace
  readonly maps: MapLoading
  /** shared with everything that is sent to other nodes */
  readonly throttle: Throttle
  readonly timeZoneMin: number
  readiness(): Promise<PartState[]>
}

/** Starts the side of a member. */
export function startMember(options: MemberOptions): FleetAgent {
  const { state, live, feeds, version, join, log } = options
  const { config } = live
  const { sync } = config
  const closedReason = async () => {
    if (await state.control.isPaused()) return 'paused by an operator'
    return closedReasonOf(sync, state.clock.nowUs(), options.timeZoneMin)
  }
  const connect = ({ hubUrl, apiKey, secret }: Membership) =>
    createUpstreamClient(
      baseUrlOf(hubUrl, sync.allowInsecure),
      { apikey: apiKey ?? '', secret: secret ?? '' },
      clientSettings(sync, version),
    )
  // the agent is made below; nothing is fetched before it asks
  const files = openMemberFiles({ ...options, connect, closedReason, onFetched: () => void agent.wake() })
  const releases = openReleaseStage(options, files.progressOf)
  const deps = reconcileDeps(options, releases)
  const doctorLine = createDoctorLine(options, () => performance.now())
  const agent = startFleetAgent({
    membership: state.membership,
    reconcile: async (membership, profile) => {
      const items = await reconcile(deps, membership, profile)
      await feeds.sender.wake()
      return items
    },
    faults: async () =>
      (await options.readiness())
        .filter(({ isReady }) => !isReady)
        .map(({ part, reason }) => `${part}: ${reason}`),
    connect: (membership) => createHubLink(connect(membership)),
    files,
    dropRelease: releases.drop,
    noteContact: (wanted) =>
      state.meta.note(CONTACT, contactText({ atUs: state.clock.nowUs(), version: wanted })),
    readReport: (profile) => readReport(options, doctorLine, profile),
    autoJoin:
      join === undefined
        ? undefined
        : async (signal) =>
            joinHub(await joinDeps(state, options.models.register.nodeId, config, version), join, signal),
    closedReason,
    useSettings: (progress) => live.use(progress === undefined ? {} : profileOf(progress.applied).settings),
    stateChanges: () => state.control.changeCount(),
    reportMs: () => config.fleet.reportS * 1000,
    waits: { baseMs: sync.retryBaseS * 1000, capMs: sync.retryCapS * 1000 },
    nowMs: () => performance.now(),
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    random: Math.random,
    log,
  })
  return {
    wake: agent.wake,
    async stop() {
      await files.stop()
      await agent.stop()
    },
  }
}

function reconcileDeps(options: MemberOptions, releases: ReleaseStage): ReconcileDeps {
  const { state, feeds, models } = options
  const { feedIdentity, tableChanges, checkConds } = feeds.context
  return {
    ...{ feedIdentity, tableChanges, checkConds },
    files: openInstallDeps(options),
    releases,
    feeds: state.feeds,
    modelStores: state.modelStores,
    upstreams: state.upstreams,
    nodeId: models.register.nodeId,
    findTable: feeds.tableOf,
  }
}

/**
 * Returns what joining needs; also for the command line beside a gateway.
 *
 * @param nodeId UUID of this node
 */
export async function joinDeps(
  { membership, nodeKeys, nodePeers }: Pick<State, 'membership' | 'nodeKeys' | 'nodePeers'>,
  nodeId: string,
  { sync }: Pick<Config, 'sync'>,
  version: string,
): Promise<JoinHubDeps> {
  return {
    membership,
    keys: await openNodeKeys(nodeKeys, nodeId),
    peers: nodePeers,
    newSecret: () => formatSecret(randomBytes(32)),
    connect: (hubUrl, credentials) =>
      createHubLink(createUpstreamClient(hubUrl, credentials, clientSettings(sync, version))),
  }
}

async function readReport(
  { state, models, disk, feeds, version, readiness }: MemberOptions,
  doctorLine: () => Promise<string | null>,
  { position_table: name }: Profile,
): Promise<object> {
  const table = name === undefined ? undefined : await feeds.tableOf(name)
  const parts = await readiness()
  const { atRisk } = await models.status()
  const records = await state.feeds.list()
  const behind = await Promise.all(records.map((record) => feeds.status(record)))
  const ages = [atRisk.oldestS, ...behind.map(({ oldestS }) => oldestS)].filter((age) => age !== null)
  return {
    version,
    uptime_s: Math.round(process.uptime()),
    disk_free_bytes: await disk.freeBytes(),
    clock_us: state.clock.nowUs(),
    clock_trusted: state.clock.isTrusted(),
    ready: parts.every(({ isReady }) => isReady),
    parts: parts
      .filter(({ isReady, isWarning }) => !isReady || isWarning)
      .map(({ part, reason }) => `${part}: ${reason}`.slice(0, 300)),
    backlog: {
      rows: behind.reduce((sum, { rowsBehind }) => sum + rowsBehind, 0),
      models: atRisk.models,
      bytes: behind.reduce((sum, { bytesBehind }) => sum + (bytesBehind ?? 0), atRisk.bytes),
      oldest_s: ages.length === 0 ? null : Math.max(...ages),
    },
    doctor: await doctorLine(),
    position: table === undefined ? null : await lastPosition(table, feeds.context.tableChanges),
  }
}
