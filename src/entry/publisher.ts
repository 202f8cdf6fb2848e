/** The publisher for programs that bring their own server: claims waiting versions, names and publishes them. */
import './needs-node.ts'

export { createPublisher, type Publisher, type PublisherOptions } from '../compose/publisher.ts'
