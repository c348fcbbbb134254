import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { faultNotice, statusLine, waitingBox } from '../core/parts.js'
import { readTables } from '../core/tables.js'
import { feedList } from './list.js'
import { readFeedUpstreams } from './read.js'
import { feedUpstreamTable, newFeed, newFeedUpstream } from './upstreams.js'

/** Feeds with their figures, and what they go to. `refresh` reads the figures again. */
export function feedSection() {
  const status = statusLine()
  const feeds = feedList(status)
  const setup = waitingBox()
  const showSetup = async () => {
    try {
      const upstreams = await readFeedUpstreams()
      const tables = await readTables().catch(() => []) // names are a help only; a key may lack their scope
      const changed = async () => {
        await Promise.all([showSetup(), feeds.refresh()])
      }
      fill(
        setup,
        upstreams.length > 0 && newFeed(tables, upstreams, changed),
        h('h2', {}, t('feedUpstreams')),
        feedUpstreamTable(upstreams, status, changed),
        newFeedUpstream(changed),
      )
    } catch (error) {
      fill(setup, faultNotice(error, showSetup))
    }
  }
  void showSetup()
  const element = h(
    'section',
    { class: 'stack', 'aria-label': t('feeds') },
    h('h2', {}, t('feeds')),
    h('p', { class: 'soft' }, t('feedsIntro')),
    status.element,
    feeds.element,
    setup,
  )
  return { element, refresh: feeds.refresh }
}
