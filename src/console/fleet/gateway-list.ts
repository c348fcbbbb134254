import { fill, h } from '../core/dom.js'
import { formatNumber, t } from '../core/i18n.js'
import { button, empty, faultNotice, field } from '../core/parts.js'
import { call } from '../core/rpc.js'
import { gatewayMap } from './gateway-map.js'
import { gatewayTable } from './gateways.js'
import type { ListedGateway, Profile, Trouble } from './read.js'
import { kindOf, kindWord, TROUBLES } from './trouble.js'

const PAGE = 50
/** Pause in typing after which the list follows. */
const TYPED_MS = 300

interface Counts {
  total: number
  trouble: Record<Trouble, number>
}

/** Part of the page that is refreshed. */
interface Section {
  element: HTMLElement
  refresh(profiles: readonly Profile[]): Promise<void>
  close(): void
}

/** Gateways of a hub on pages, the worst trouble first, with a map; the hub filters and orders them. */
export function gatewayList(): Section {
  const [summary, chips, box, pages] = [h('p', { role: 'status' }), chipGroup(), h('div'), h('div')]
  const name = h('input', { type: 'search', maxlength: 80, autocomplete: 'off' })
  const map = gatewayMap()
  const chosen = new Set<Trouble>()
  let [offset, asked, typed] = [0, 0, 0]
  let profiles: readonly Profile[] = []
  const choice = () => ({
    ...(name.value.trim() === '' ? {} : { name: name.value.trim() }),
    ...(chosen.size === 0 ? {} : { trouble: TROUBLES.filter((kind) => chosen.has(kind)) }),
  })
  const show = async () => {
    const question = ++asked
    try {
      const { trouble, ...named } = choice()
      const params = { ...named, ...(trouble && { trouble }), order: 'trouble', limit: PAGE, offset }
      const [counts, gateways] = await Promise.all([
        call<Counts>('fleet.count_gateways', named),
        call<ListedGateway[]>('fleet.list_gateways', params),
      ])
      // an answer to a later question has come before
      if (question !== asked) return
      const matching = (trouble ?? TROUBLES).reduce((sum, kind) => sum + counts.trouble[kind], 0)
      if (offset > 0 && offset >= matching) return turn(Math.floor((matching - 1) / PAGE) * PAGE)
      summary.textContent = summaryText(counts)
      fillChips(chips, counts, chosen, () => turn(0))
      const isNone = counts.total === 0 && named.name === undefined
      refill(
        box,
        isNone || gateways.length > 0 ? gatewayTable(gateways, profiles) : empty(t('gatewaysNoMatch')),
      )
      refill(pages, pager({ offset, count: gateways.length, matching }, turn))
    } catch (error) {
      if (question === asked) fill(box, faultNotice(error, show))
    }
  }
  const turn = (to: number) => {
    offset = Math.max(0, to)
    map.show(choice())
    void show()
  }
  name.addEventListener('input', () => {
    clearTimeout(typed)
    typed = window.setTimeout(() => turn(0), TYPED_MS)
  })
  const filters = [h('div', { class: 'grid' }, field(t('findByName'), name)), chips]
  return {
    element: h('div', { class: 'stack' }, summary, filters, map.element, box, pages),
    async refresh(now) {
      profiles = now
      await show()
    },
    close: map.close,
  }
}

function chipGroup(): HTMLElement {
  return h('div', { class: 'row', role: 'group', 'aria-label': t('showOnly') })
}

/** A gateway that waits for its turn in a roll-out is not in trouble. */
function summaryText({ total, trouble }: Counts): string {
  const { left, revoked, silent, none, outdated } = trouble
  const members = total - left - revoked
  return t('summaryFleet', {
    all: formatNumber(members),
    trouble: formatNumber(members - none - outdated),
    silent: formatNumber(silent),
  })
}

/** Buttons that choose kinds of trouble; one that holds the focus stays. */
function fillChips(
  group: HTMLElement,
  { trouble }: Counts,
  chosen: Set<Trouble>,
  onChange: () => void,
): void {
  const kinds = TROUBLES.filter((kind) => trouble[kind] > 0 || chosen.has(kind))
  const chip = (kind: Trouble) => {
    const press = () => {
      if (!chosen.delete(kind)) chosen.add(kind)
      onChange()
    }
    const label = `${t(kindWord(kind))}: ${formatNumber(trouble[kind])}`
    const props = { 'aria-pressed': String(chosen.has(kind)), 'data-kind': kind }
    return button(label, press, `small chip ${kindOf(kind)}`, props)
  }
  refill(group, ...kinds.map(chip))
}

function pager(
  { offset, count, matching }: { offset: number; count: number; matching: number },
  turn: (offset: number) => void,
): HTMLElement | undefined {
  if (matching <= PAGE) return undefined
  const range = {
    from: formatNumber(offset + 1),
    to: formatNumber(offset + count),
    all: formatNumber(matching),
  }
  const back = { disabled: offset === 0, 'data-kind': 'previous' }
  const on = { disabled: offset + count >= matching, 'data-kind': 'next' }
  return h(
    'nav',
    { class: 'row', 'aria-label': t('hubGateways') },
    button(t('previous'), () => turn(offset - PAGE), 'small', back),
    button(t('next'), () => turn(offset + PAGE), 'small', on),
    h('span', { class: 'soft small' }, t('fromToOf', range)),
  )
}

/** Replaces what a box shows; the focus and the place to which it was scrolled stay. */
function refill(box: HTMLElement, ...content: (HTMLElement | undefined)[]): void {
  const focused = document.activeElement
  const mark = focused instanceof HTMLElement && box.contains(focused) ? markOf(focused) : undefined
  const scrolled = box.querySelector('.scroll')
  const [left, top] = [scrolled?.scrollLeft ?? 0, scrolled?.scrollTop ?? 0]
  fill(box, ...content)
  box.querySelector('.scroll')?.scrollTo(left, top)
  if (mark !== undefined) box.querySelector<HTMLElement>(mark)?.focus({ preventScroll: true })
}

/** Selector that finds an element again when its box was filled again. */
function markOf(element: HTMLElement): string {
  const [kind, href] = [element.dataset.kind, element.getAttribute('href')]
  if (kind !== undefined) return `[data-kind=${kind}]`
  return href === null ? '.scroll' : `[href="${CSS.escape(href)}"]`
}
