import { z } from 'zod'
import { bytes, count, file } from './sections.js'

const timesOfSync = () => ({
  push: z
    .enum(['auto', 'manual'])
    .default('auto')
    .describe(
      'auto: models are sent to the upstreams of their store when they arrive; manual: by fl.feedback only',
    ),
  pushStates: z
    .array(z.literal([10, 20, 30]))
    .max(3)
    .default([10, 20, 30])
    .describe('models that auto sends: 10 put here, 20 received as feedback, 30 aggregated here'),
  waitS: z
    .int()
    .min(0)
    .max(3600)
    .default(30)
    .describe('time that fl.feedback and fl.request_transfer wait for their transfer, seconds'),
  idleTimeoutS: z
    .int()
    .min(1)
    .max(3600)
    .default(60)
    .describe('time without a byte after which an attempt ends, seconds'),
  connectTimeoutS: z.int().min(1).max(600).default(15).describe('time to connect to an upstream, seconds'),
  feedCheckS: z
    .number()
    .min(0.1)
    .max(604_800)
    .default(3600)
    .describe(
      'time without a row after which a feed asks its upstream what it has, seconds; a quarter of it is random',
    ),
  batchWaitS: z
    .number()
    .min(0.05)
    .max(3600)
    .default(1)
    .describe('time for which rows of a feed are collected before a batch is sent, seconds'),
  retryBaseS: z
    .number()
    .min(0.01)
    .max(3600)
    .default(5)
    .describe('longest wait before the first retry, seconds'),
  retryCapS: z
    .number()
    .min(0.01)
    .max(86_400)
    .default(1800)
    .describe('longest wait before any retry, seconds'),
  maxBytesPerSecond: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('send rate over all upstreams, bytes per second; 0 for no limit'),
})

const waysOfSync = () => ({
  windows: z
    .array(z.string().regex(/^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$/, 'expected HH:MM-HH:MM'))
    .max(24)
    .default([])
    .describe('local times in which sending is allowed, such as 22:00-05:30; empty: always'),
  deltas: z
    .boolean()
    .default(true)
    .describe(
      'true: models are carried as their differences to a model that both nodes have, where that is smaller',
    ),
  deltaMinBytes: bytes(256 * 1024, 'smallest model that is carried as differences'),
  deltaCacheBytes: bytes(
    1024 * 1024 * 1024,
    'largest size of all differences that are kept on disk, so that a cut transfer goes on with the same bytes',
  ),
  concurrency: count(4, 'upstreams that are sent to at the same time', 64),
  paused: z.boolean().default(false).describe('true: nothing is sent or fetched'),
  caFile: file('PEM file of private certificate authorities that are trusted in addition to the public ones'),
  allowInsecure: z
    .array(z.string().min(1).max(255))
    .max(100)
    .default([])
    .describe('upstream hosts that may be used over http, without TLS'),
  allowPrivate: z.boolean().default(true).describe('true: upstreams may have addresses of private networks'),
  allowLoopback: z
    .boolean()
    .default(false)
    .describe('true: upstreams may be on this machine, for tests and demos'),
  replyBytes: bytes(4 * 1024 * 1024, 'largest answer of an upstream, apart from model files'),
})

/** Exchange with other nodes. */
export const makeSync = () => z.strictObject({ ...timesOfSync(), ...waysOfSync() })
