package script

// word is one form of the language: what docs/scenarios.md says of it.
type word struct {
	group, form, does, example string
}

const (
	headGroup   = "The cluster"
	aboutGroup  = "About the scenario"
	actGroup    = "What is done"
	harmGroup   = "What happens to a cluster"
	faultGroup  = "Faults at the exact point"
	stopGroup   = "Where the controller is held"
	expectGroup = "What is expected"
)

// words is the language. Each example is a line that parses, which a test sees to.
var words = []word{
	{aboutGroup, "title TEXT", "one line for the list", "title Deletion with a dead broker"},
	{aboutGroup, "goal TEXT", "what is to be reached, in a sentence", "goal Get rid of topic orders although broker 3 is down"},
	{aboutGroup, "teaches TEXT", "what one learns; may be repeated", "teaches A deletion waits for every replica's broker"},
	{aboutGroup, "hint TEXT", "shown one after the other; may be repeated", "hint Look at view 5"},

	{headGroup, "brokers N", "brokers 1 to N", "brokers 3"},
	{headGroup, "broker N [rack R] [dirs N] [protocol V]", "what is special about one of them: rack, number of log directories, inter-broker protocol", "broker 2 rack east dirs 2"},
	{headGroup, "topic NAME PxR [config K=V ...]", "a topic of P partitions with R replicas each", "topic orders 3x3 config min.insync.replicas=2"},
	{headGroup, "topic NAME assignment LISTS [config K=V ...]", "a topic with these replicas for each partition", "topic clicks assignment 1,2;2,1"},
	{headGroup, "set NAME VALUE", "a setting of the controller and all brokers from the start on", "set auto.leader.rebalance.enable false"},
	{headGroup, "protocol V", "inter.broker.protocol.version of all", "protocol 2.4"},
	{headGroup, "session TIME", "timeout of ZooKeeper sessions (20s)", "session 6s"},
	{headGroup, "bury TIME", "how long a killed broker's session lives on (300ms)", "bury 1s"},
	{headGroup, "lag TIME", "replica.lag.time.max.ms of the brokers (2s)", "lag 500ms"},
	{headGroup, "catch-up TIME", "how long a follower takes to have everything (200ms)", "catch-up 1s"},
	{headGroup, "file-delete TIME", "how long renamed logs stay on disk (1m)", "file-delete 2s"},
	{headGroup, "patience TIME", "how long until, wait idle and eventually wait (30s)", "patience 10s"},

	{actGroup, "create topic NAME PxR [config K=V ...]", "as a client would, also with assignment LISTS", "create topic late 2x2"},
	{actGroup, "grow topic NAME to N", "to N partitions in all", "grow topic orders to 5"},
	{actGroup, "delete topic NAME", "writes the delete marker", "delete topic orders"},
	{actGroup, "reassign T-P to LIST", "moves a partition to these brokers", "reassign orders-0 to 2,3"},
	{actGroup, "cancel reassignment of T-P", "takes a running move back", "cancel reassignment of orders-0"},
	{actGroup, "elect STRATEGY SCOPE", "STRATEGY: preferred, offline, unclean, reassign, controlled-shutdown; SCOPE: all, topic T, partition T-P, broker N", "elect preferred topic orders"},
	{actGroup, "start broker N", "also: start new broker", "start broker 3"},
	{actGroup, "shut down broker N", "in the controlled way", "shut down broker 1"},
	{actGroup, "set NAME VALUE [of topic T]", "changes a setting; what Kafka reads at the start only takes a restart of the controller", "set unclean.leader.election.enable true of topic orders"},
	{actGroup, "unset NAME [of topic T]", "takes it back to its default", "unset unclean.leader.election.enable of topic orders"},
	{actGroup, "move controller", "deletes /controller: the role is given up and won anew", "move controller"},
	{actGroup, "restart controller", "its process ends at once and starts again; a held one stays held", "restart controller"},
	{actGroup, "say TEXT", "tells the reader something", "say Now the topic waits for broker 3"},

	{harmGroup, "kill broker N", "as kill -9 does", "kill broker 3"},
	{harmGroup, "fail log dir of broker N [PATH]", "its first good log directory, or that one", "fail log dir of broker 2"},
	{harmGroup, "repair log dirs of broker N", "good again from its next start on", "repair log dirs of broker 2"},
	{harmGroup, "cut broker N from SIDE", "SIDE: zookeeper or controller; nothing passes any more", "cut broker 2 from zookeeper"},
	{harmGroup, "make broker N CONDUCT", "CONDUCT: silent (never answers the controller), refusing (takes no connection), lagging (does not replicate), well", "make broker 2 silent"},
	{harmGroup, "heal broker N", "ends cuts and misconduct", "heal broker 2"},
	{harmGroup, "expire session of broker N", "its ZooKeeper session ends; also: of controller", "expire session of controller"},
	{harmGroup, "write znode PATH DATA", "creates or sets it, as an outside client would", `write znode /brokers/topics/orders/partitions/0/state "{\"version\": 1}"`},
	{harmGroup, "delete znode PATH", "as an outside client would", "delete znode /controller"},
	{harmGroup, "rival takes over", "another process becomes the controller, behind this one's back", "rival takes over"},
	{harmGroup, "rival leaves", "and ends", "rival leaves"},

	{faultGroup, "fault [NTH] OP PATH answers CODE", "OP: read, write, get, exists, children, create, set, delete; PATH: * is anything; NTH: 2nd, 3rd, ... or every; CODE: NONODE, NODEEXISTS, BADVERSION, NOTEMPTY, NOAUTH", "fault set /brokers/topics/orders/* answers BADVERSION"},
	{faultGroup, "fault [NTH] OP PATH fence fails", "the check of /controller_epoch fails: another controller came", "fault 2nd write * fence fails"},
	{faultGroup, "fault [NTH] OP PATH leaves batch dirty", "the fence fails while a batch holds requests that are not sent yet: they stay in it, and each later transition of its machine fails, since its batch is not empty (KAFKA-12315)", "fault write * leaves batch dirty"},
	{faultGroup, "fault [NTH] OP PATH lost before", "the connection breaks before it is done; it is sent again", "fault create /brokers/topics/late/* lost before"},
	{faultGroup, "fault [NTH] OP PATH lost after", "the connection breaks after it was done; it is sent again", "fault create /brokers/topics/late/* lost after"},
	{faultGroup, "fault [NTH] OP PATH session expires", "the session ends just before it", "fault delete /admin/delete_topics/orders session expires"},
	{faultGroup, "fault [NTH] REQUEST answered by broker N dropped", "REQUEST: LeaderAndIsr, UpdateMetadata, StopReplica, or request for any; also: by any broker. The connection breaks instead of the answer; the request is sent again", "fault StopReplica answered by broker 2 dropped"},
	{faultGroup, "fault [NTH] REQUEST answered by broker N delayed TIME", "what is queued behind waits, too", "fault every request answered by any broker delayed 200ms"},
	{faultGroup, "fault [NTH] REQUEST answered by broker N held", "until it is released", "fault StopReplica answered by broker 2 held"},
	{faultGroup, "fault [NTH] REQUEST answered by broker N error ERROR", "for each of its partitions, by the protocol's name", "fault StopReplica answered by broker 2 error KAFKA_STORAGE_ERROR"},
	{faultGroup, "fault [NTH] ... do ACTION", "ACTION, one of those that happen to a cluster, comes first; also with REQUEST to broker N, and with step PATTERN", `fault StopReplica to broker 2 do kill broker 2`},
	{faultGroup, "fault [NTH] step PATTERN do ACTION", "before a step whose line has that text", `fault step "move replica orders-0@1" do cut broker 1 from zookeeper`},
	{faultGroup, "clear faults", "all of them; what they hold is released", "clear faults"},
	{faultGroup, "release answers [of broker N]", "that are held, so that answers come in the order you want", "release answers of broker 2"},

	{stopGroup, "pause", "holds at the next step", "pause"},
	{stopGroup, "continue", "runs on", "continue"},
	{stopGroup, "step GRAIN", "takes the step at hand; GRAIN: event, batch, transition, io", "step transition"},
	{stopGroup, "until PATTERN", "runs on to the next step whose line has that text, * being anything, and holds there", `until "begin TopicDeletion"`},
	{stopGroup, "wait idle", "until nothing happens any more", "wait idle"},
	{stopGroup, "wait TIME", "at most a minute", "wait 500ms"},

	{expectGroup, "expect [eventually] [not] CONDITION", "at once; with eventually within the patience", "expect eventually not topic orders exists"},
	{expectGroup, "partition T-P STATE", "as the controller remembers it: New, Online, Offline, NonExistent", "expect partition orders-0 Offline"},
	{expectGroup, "replica T-P@N STATE", "New, Online, Offline, ReplicaDeletionStarted, ReplicaDeletionSuccessful, ReplicaDeletionIneligible, NonExistent", "expect replica orders-0@2 ReplicaDeletionIneligible"},
	{expectGroup, "leader T-P N", "or none", "expect leader orders-0 2"},
	{expectGroup, "isr T-P LIST", "in any order; or none", "expect isr orders-0 1,2"},
	{expectGroup, "replicas T-P LIST", "in this order", "expect replicas orders-0 2,3"},
	{expectGroup, "reassigning T-P", "a move is running", "expect not reassigning orders-0"},
	{expectGroup, "topic T exists", "or absent: in the controller's memory", "expect topic orders absent"},
	{expectGroup, "deletion T STATE [because REASON]", "STATE: queued, running, waiting, done; REASON: offline-replica, reassignment-in-progress, replica-deletion-failed", "expect deletion orders waiting because offline-replica"},
	{expectGroup, "broker N STATE", "live, shutting-down, killed (still registered), down (not registered, or not known to this controller)", "expect broker 3 down"},
	{expectGroup, "controller WHO", "active (this one), other, none", "expect controller active"},
	{expectGroup, "epoch N", "of this controller", "expect epoch 2"},
	{expectGroup, "at PATTERN", "of the step at hand", `expect at "begin BrokerChange"`},
	{expectGroup, "happened PATTERN", "a step or an input had that text since the start", `expect happened "leader 3 UNCLEAN"`},
	{expectGroup, "event PATTERN", "an event of that name was begun since the start", "expect event TopicDeletion"},
	{expectGroup, "log PATTERN", "the controller logged that since the start", `expect log "Deletion of topic orders successfully completed"`},
	{expectGroup, "znode PATH exists", "or absent, or contains TEXT, or version N", `expect znode /admin/delete_topics/orders absent`},
	{expectGroup, "disk N holds T-P", "or deleting T-P (renamed, not yet removed), or failed: on a broker's log directories", "expect disk 2 deleting orders-0"},
	{expectGroup, "held N", "an answer of that broker is held by a fault", "expect eventually held 2"},
	{expectGroup, "faults hit", "each armed fault has come over something", "expect faults hit"},
}
