import type { z } from 'zod'
import { parseDatetime } from '../../datetime.js'
import { invalidParams } from '../../errors.js'
import { daysBetween, dayText } from '../../feeds/batch/days.js'
import { askResend } from '../../feeds/send/resend.js'
import { defineMethod } from '../../rpc/define-method.js'
import type { SyncContext } from './context.js'
import { unknownFeed } from './feeds.js'
import { ResendParams, Resent } from './verify-schema.js'

export const resend = defineMethod({
  name: 'sync.resend',
  summary: 'Moves rows of a feed once more: those last written on some days. The receiver keeps one of each',
  scope: 'sync:write',
  errors: [
    ...(['UNKNOWN_FEED', 'UNKNOWN_TABLE', 'FEED_BEHIND', 'NOT_IN_THIS_VERSION'] as const),
    ...(['UPSTREAM_UNREACHABLE', 'UPSTREAM_REFUSED'] as const),
  ],
  params: ResendParams,
  result: Resent,
  async handle({ feed, from, to }, context: SyncContext) {
    const record = await context.feeds.find(feed)
    if (record === undefined) throw unknownFeed(feed)
    const days = readDays(from, to, context)
    const {
      feedResends: resends,
      feedIdentity: identity,
      tableChanges: changes,
      clock,
      timeZoneMin,
    } = context
    const env = () => ({ timeZoneMin, nowUs: BigInt(clock.nowUs()) })
    const findTable = (name: string) => context.findTable(name)
    const asked =
      record.direction === 'down'
        ? await context.resendDown(record, days, context.signal)
        : await askResend({ resends, identity, changes, env, findTable }, record, days)
    await context.feedSender.wake()
    return { rows: asked.rows, from_day: dayText(asked.fromDay), to_day: dayText(asked.toDay) }
  },
})

type Instant = z.output<typeof ResendParams>['from']

/** @throws AppError INVALID_PARAMS */
function readDays(
  from: Instant,
  to: Instant,
  { timeZoneMin }: Pick<SyncContext, 'timeZoneMin'>,
): { fromDay: number; toDay: number } {
  const [fromUs, toUs] = [readInstant('$.from', from, timeZoneMin), readInstant('$.to', to, timeZoneMin)]
  if (toUs >= fromUs) return daysBetween(fromUs, toUs)
  throw invalidParams([{ path: '$.to', message: 'found an instant before from, expected from or later' }])
}

function readInstant(path: string, instant: Instant, timeZoneMin: number): bigint {
  const us = parseDatetime(typeof instant === 'string' ? instant : instant.val, timeZoneMin)
  if (typeof us === 'bigint') return us
  throw invalidParams([{ path, message: `found ${us.found}, expected ${us.expected}` }])
}
