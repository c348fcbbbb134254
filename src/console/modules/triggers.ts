import { fill, h } from '../core/dom.js'
import { formatHours, formatNumber, formatTime, t, type Word } from '../core/i18n.js'
import {
  badge,
  button,
  confirmed,
  prose,
  showFault,
  type statusLine,
  table,
  waitingBox,
} from '../core/parts.js'
import { call } from '../core/rpc.js'
import { type RunInfo, readRuns, readTriggers, type TriggerInfo, type TriggerOn } from './read.js'

const STATES: Record<RunInfo['state'], { word: Word; kind: string }> = {
  running: { word: 'runGoing', kind: 'accent' },
  done: { word: 'runDone', kind: 'good' },
  failed: { word: 'runFailed', kind: 'bad' },
  cancelled: { word: 'runCancelled', kind: '' },
  interrupted: { word: 'runInterrupted', kind: 'warn' },
  missed: { word: 'runMissed', kind: 'warn' },
  skipped: { word: 'runSkipped', kind: '' },
}

/** Triggers with their next and last run, and the history of all. `refresh` reads both again. */
export function triggerList(status: ReturnType<typeof statusLine>) {
  const element = waitingBox()
  let shown = ''
  const refresh = async () => {
    try {
      const [{ triggers, waits_for_clock }, runs] = await Promise.all([readTriggers(), readRuns()])
      const now = JSON.stringify([triggers, waits_for_clock, runs])
      // an unchanged table is left alone, so that a screen reader keeps its position
      if (now !== shown)
        fill(
          element,
          waits_for_clock && h('p', { class: 'notice warn', role: 'status' }, t('waitsForClock')),
          triggerTable(triggers, act),
          h('h2', {}, t('triggerRuns')),
          runTable(runs),
        )
      shown = now
    } catch (error) {
      shown = showFault(element, error, shown, refresh)
    }
  }
  const act: Act = async (method, params) => {
    try {
      await call(method, params)
      status.say('')
    } catch (error) {
      status.bad(error)
    }
    await refresh()
  }
  return { element, refresh }
}

type Act = (method: string, params: object) => Promise<void>

function triggerTable(triggers: readonly TriggerInfo[], act: Act): HTMLElement {
  return table(
    t('triggers'),
    [t('trigger'), t('startsWith'), t('moduleWord'), t('nextStart'), t('lastRun'), t('actions')],
    triggers.map((trigger) => [
      trigger.name,
      onText(trigger.on),
      `${trigger.module}.${trigger.method}`,
      trigger.enabled ? (trigger.next === null ? '–' : formatTime(trigger.next)) : badge(t('feedDisabled')),
      trigger.last_run === null ? t('neverRun') : lastOf(trigger.last_run),
      actionsOf(trigger, act),
    ]),
    t('triggersNone'),
  )
}

/** Returns what starts a trigger, in words. */
export function onText({ schedule, time_zone, table: name, model_store_ddc: store }: TriggerOn): string {
  if (schedule !== undefined) return t('onSchedule', { schedule, zone: time_zone ?? '' })
  if (name !== undefined) return t('onTable', { table: name })
  return store === undefined ? t('onStartup') : t('onModel', { store })
}

function stateBadge({ state }: RunInfo): HTMLElement {
  return badge(t(STATES[state].word), STATES[state].kind)
}

function lastOf(run: RunInfo): HTMLElement {
  return h('div', {}, stateBadge(run), ' ', formatTime(run.started ?? run.due))
}

function actionsOf({ name, enabled, running }: TriggerInfo, act: Act): HTMLElement {
  const remove = async () => {
    if (await confirmed(t('removeTriggerSure', { name }), t('remove')))
      await act('dataproc.delete_trigger', { name })
  }
  const turn = (word: Word, isOn: boolean) =>
    button(t(word), () => void act('dataproc.update_trigger', { name, enabled: isOn }), 'small')
  return h(
    'div',
    { class: 'row' },
    !running && button(t('runNow'), () => void act('dataproc.run_trigger', { name }), 'small'),
    enabled ? turn('disable', false) : turn('enable', true),
    button(t('remove'), () => void remove(), 'small bad'),
  )
}

function runTable(runs: readonly RunInfo[]): HTMLElement {
  return table(
    t('triggerRuns'),
    [t('trigger'), t('state'), t('due'), t('duration'), t('exitCode'), t('lastLines')],
    runs.map((run) => [
      run.trigger,
      h(
        'div',
        {},
        stateBadge(run),
        run.attempts > 1 && soft(t('attemptsMade', { n: formatNumber(run.attempts) })),
      ),
      h(
        'div',
        {},
        formatTime(run.due),
        run.count > 1 && soft(t('standsFor', { n: formatNumber(run.count), until: formatTime(run.until) })),
      ),
      run.seconds === null ? '–' : formatHours(run.seconds / 3600),
      run.exit_code ?? '–',
      saidOf(run),
    ]),
    t('triggerRunsNone'),
  )
}

function soft(text: string): HTMLElement {
  return h('div', { class: 'soft small' }, text)
}

/** Output of a run, folded behind its reason. */
function saidOf({ message, last_lines: lines }: RunInfo): HTMLElement {
  if (lines === null) return prose(message ?? '')
  return h(
    'details',
    {},
    h('summary', {}, prose(message ?? lines.split('\n').at(-1) ?? '')),
    h('pre', {}, lines),
  )
}
