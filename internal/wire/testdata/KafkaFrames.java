// Writes kafka-3.9.2-frames.json: frames as Kafka's own classes encode them.
// java -cp kafka-clients-3.9.2.jar:slf4j-api.jar KafkaFrames.java > kafka-3.9.2-frames.json
// The content of each frame is built a second time, from the model, in the tests beside it.
import java.nio.ByteBuffer;
import java.util.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.*;
import org.apache.kafka.common.message.LeaderAndIsrResponseData.*;
import org.apache.kafka.common.message.StopReplicaRequestData.*;
import org.apache.kafka.common.message.StopReplicaResponseData.*;
import org.apache.kafka.common.message.UpdateMetadataRequestData.*;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.requests.*;

public class KafkaFrames {
    static final TreeMap<String, String> out = new TreeMap<>();
    static final Uuid A = new Uuid(0x0101010101010101L, 0x0101010101010101L), B = new Uuid(0x0202020202020202L, 0x0202020202020202L);

    static void put(String name, ByteBuffer b) {
        StringBuilder s = new StringBuilder();
        while (b.hasRemaining()) s.append(String.format("%02x", b.get()));
        out.put(name, s.toString());
    }

    static void request(AbstractRequest r, String client) {
        RequestHeader h = new RequestHeader(r.apiKey(), r.version(), client, 77);
        put("request/" + r.apiKey().name + "/" + r.version(), r.serializeWithHeader(h));
    }

    static void request(ApiKeys key, int version, ApiMessage data) {
        ByteBuffer header = MessageUtil.toByteBuffer(new RequestHeaderData().setRequestApiKey(key.id).setRequestApiVersion((short) version)
            .setCorrelationId(77).setClientId("admin-1"), key.requestHeaderVersion((short) version));
        join("request/", key, version, header, data);
    }

    static void response(ApiKeys key, int version, ApiMessage data) {
        join("response/", key, version, MessageUtil.toByteBuffer(new ResponseHeaderData().setCorrelationId(77), key.responseHeaderVersion((short) version)), data);
    }

    static void join(String kind, ApiKeys key, int version, ByteBuffer header, ApiMessage data) {
        ByteBuffer body = MessageUtil.toByteBuffer(data, (short) version);
        ByteBuffer all = ByteBuffer.allocate(header.remaining() + body.remaining());
        all.put(header).put(body).flip();
        put(kind + key.name + "/" + version, all);
    }

    static LeaderAndIsrPartitionState leaderAndIsr(String topic, int p, int leader, int epoch, List<Integer> isr, int zk, List<Integer> replicas, List<Integer> adding, List<Integer> removing, boolean isNew, int recovery, int v) {
        LeaderAndIsrPartitionState s = new LeaderAndIsrPartitionState().setTopicName(topic).setPartitionIndex(p).setControllerEpoch(4).setLeader(leader).setLeaderEpoch(epoch)
            .setIsr(isr).setPartitionEpoch(zk).setReplicas(replicas).setAddingReplicas(adding).setRemovingReplicas(removing).setIsNew(isNew);
        return v >= 6 ? s.setLeaderRecoveryState((byte) recovery) : s;
    }

    static UpdateMetadataPartitionState metadata(String topic, int p, int leader, int epoch, List<Integer> isr, int zk, List<Integer> replicas, List<Integer> offline) {
        return new UpdateMetadataPartitionState().setTopicName(topic).setPartitionIndex(p).setControllerEpoch(4).setLeader(leader).setLeaderEpoch(epoch)
            .setIsr(isr).setZkVersion(zk).setReplicas(replicas).setOfflineReplicas(offline);
    }

    static UpdateMetadataEndpoint endpoint(String host, int port, String listener, int protocol) {
        return new UpdateMetadataEndpoint().setHost(host).setPort(port).setListener(listener).setSecurityProtocol((short) protocol);
    }

    static void control() {
        Map<String, Uuid> ids = Map.of("a", A, "b", B);
        for (int v = 0; v <= 7; v++)
            request(new LeaderAndIsrRequest.Builder((short) v, 1001, 5, 71, List.of(
                leaderAndIsr("a", 0, 1, 3, List.of(1, 2), 5, List.of(3, 1, 2), List.of(3), List.of(1), true, 0, v),
                leaderAndIsr("a", 1, 2, 0, List.of(2), 0, List.of(2, 1), List.of(), List.of(), false, 1, v),
                leaderAndIsr("b", 7, -1, 9, List.of(2), 12, List.of(2), List.of(), List.of(), false, 0, v)),
                ids, List.of(new Node(1, "one", 9092), new Node(2, "two", 9092))).build((short) v), "1001");
        for (int v = 0; v <= 8; v++) {
            List<UpdateMetadataEndpoint> one = new ArrayList<>(List.of(endpoint("one", 9092, "PLAINTEXT", 0)));
            if (v >= 1) one.add(endpoint("one", 9093, "SSL", 1));
            if (v >= 3) one.add(endpoint("one", 9094, "CLIENT", 3));
            request(new UpdateMetadataRequest.Builder((short) v, 1001, 5, 71, List.of(
                metadata("a", 0, 1, 3, List.of(1, 2), 5, List.of(3, 1, 2), List.of(3)),
                metadata("a", 1, 2, 0, List.of(2), 0, List.of(2, 1), List.of()),
                metadata("b", 7, -2, 0, List.of(2), 0, List.of(2), List.of(2))),
                List.of(new UpdateMetadataBroker().setId(1).setEndpoints(one).setRack("r1"),
                    new UpdateMetadataBroker().setId(2).setEndpoints(List.of(endpoint("two", 9092, "PLAINTEXT", 0))).setRack(null)),
                ids).build((short) v), "1001");
        }
        for (int v = 0; v <= 4; v++) {
            boolean mixed = v >= 3;
            request(new StopReplicaRequest.Builder((short) v, 1001, 5, 71, true, List.of(
                new StopReplicaTopicState().setTopicName("a").setPartitionStates(List.of(
                    new StopReplicaPartitionState().setPartitionIndex(0).setLeaderEpoch(-2).setDeletePartition(true),
                    new StopReplicaPartitionState().setPartitionIndex(1).setLeaderEpoch(3).setDeletePartition(!mixed))),
                new StopReplicaTopicState().setTopicName("b").setPartitionStates(List.of(
                    new StopReplicaPartitionState().setPartitionIndex(7).setLeaderEpoch(-1).setDeletePartition(!mixed))))).build((short) v), "1001");
        }
        for (int v = 0; v <= 7; v++) {
            LeaderAndIsrResponseData d = new LeaderAndIsrResponseData();
            if (v < 5)
                d.setPartitionErrors(List.of(new LeaderAndIsrPartitionError().setTopicName("b").setPartitionIndex(7).setErrorCode((short) 56),
                    new LeaderAndIsrPartitionError().setTopicName("a").setPartitionIndex(1), new LeaderAndIsrPartitionError().setTopicName("a").setPartitionIndex(0).setErrorCode((short) 11)));
            else {
                d.topics().add(new LeaderAndIsrTopicError().setTopicId(B).setPartitionErrors(List.of(new LeaderAndIsrPartitionError().setPartitionIndex(7).setErrorCode((short) 56))));
                d.topics().add(new LeaderAndIsrTopicError().setTopicId(new Uuid(9, 9)).setPartitionErrors(List.of(new LeaderAndIsrPartitionError().setPartitionIndex(3))));
                d.topics().add(new LeaderAndIsrTopicError().setTopicId(A).setPartitionErrors(List.of(new LeaderAndIsrPartitionError().setPartitionIndex(1), new LeaderAndIsrPartitionError().setPartitionIndex(0).setErrorCode((short) 11))));
            }
            response(ApiKeys.LEADER_AND_ISR, v, d);
        }
        for (int v = 0; v <= 8; v++) response(ApiKeys.UPDATE_METADATA, v, new UpdateMetadataResponseData().setErrorCode((short) 77));
        for (int v = 0; v <= 4; v++)
            response(ApiKeys.STOP_REPLICA, v, new StopReplicaResponseData().setPartitionErrors(List.of(
                new StopReplicaPartitionError().setTopicName("b").setPartitionIndex(7).setErrorCode((short) 74),
                new StopReplicaPartitionError().setTopicName("a").setPartitionIndex(1), new StopReplicaPartitionError().setTopicName("a").setPartitionIndex(0))));
    }

    static void asked() {
        for (int v = 0; v <= 3; v++) {
            AlterPartitionRequestData.PartitionData p = new AlterPartitionRequestData.PartitionData().setPartitionIndex(1).setLeaderEpoch(3).setPartitionEpoch(5);
            if (v >= 1) p.setLeaderRecoveryState((byte) 1);
            if (v < 3) p.setNewIsr(List.of(2, 1));
            else p.setNewIsrWithEpochs(List.of(new AlterPartitionRequestData.BrokerState().setBrokerId(2), new AlterPartitionRequestData.BrokerState().setBrokerId(1).setBrokerEpoch(71)));
            AlterPartitionRequestData.TopicData t = new AlterPartitionRequestData.TopicData().setPartitions(List.of(p));
            AlterPartitionResponseData.TopicData a = new AlterPartitionResponseData.TopicData().setPartitions(List.of(
                new AlterPartitionResponseData.PartitionData().setPartitionIndex(1).setLeaderId(2).setLeaderEpoch(3).setIsr(List.of(2, 1)).setPartitionEpoch(6),
                new AlterPartitionResponseData.PartitionData().setPartitionIndex(4).setErrorCode((short) 74)));
            if (v < 2) { t.setTopicName("a"); a.setTopicName("a"); } else { t.setTopicId(A); a.setTopicId(A); }
            request(ApiKeys.ALTER_PARTITION, v, new AlterPartitionRequestData().setBrokerId(2).setBrokerEpoch(72).setTopics(List.of(t)));
            response(ApiKeys.ALTER_PARTITION, v, new AlterPartitionResponseData().setTopics(List.of(a)));
        }
        for (int v = 0; v <= 3; v++) {
            ControlledShutdownRequestData d = new ControlledShutdownRequestData().setBrokerId(2);
            if (v >= 2) d.setBrokerEpoch(72);
            request(ApiKeys.CONTROLLED_SHUTDOWN, v, d);
            ControlledShutdownResponseData a = new ControlledShutdownResponseData();
            a.remainingPartitions().add(new ControlledShutdownResponseData.RemainingPartition().setTopicName("a").setPartitionIndex(1));
            response(ApiKeys.CONTROLLED_SHUTDOWN, v, a);
        }
        request(ApiKeys.ALLOCATE_PRODUCER_IDS, 0, new AllocateProducerIdsRequestData().setBrokerId(2).setBrokerEpoch(72));
        response(ApiKeys.ALLOCATE_PRODUCER_IDS, 0, new AllocateProducerIdsResponseData().setProducerIdStart(4000).setProducerIdLen(1000));
        for (int v = 0; v <= 2; v++) {
            ElectLeadersRequestData d = new ElectLeadersRequestData().setTimeoutMs(1500);
            if (v >= 1) d.setElectionType((byte) 1);
            d.topicPartitions().add(new ElectLeadersRequestData.TopicPartitions().setTopic("b").setPartitions(List.of(7)));
            d.topicPartitions().add(new ElectLeadersRequestData.TopicPartitions().setTopic("a").setPartitions(List.of(1, 0)));
            request(ApiKeys.ELECT_LEADERS, v, d);
            response(ApiKeys.ELECT_LEADERS, v, new ElectLeadersResponseData().setReplicaElectionResults(List.of(
                new ElectLeadersResponseData.ReplicaElectionResult().setTopic("a").setPartitionResult(List.of(
                    new ElectLeadersResponseData.PartitionResult().setPartitionId(0).setErrorMessage(null),
                    new ElectLeadersResponseData.PartitionResult().setPartitionId(1).setErrorCode((short) 84).setErrorMessage("not needed"))),
                new ElectLeadersResponseData.ReplicaElectionResult().setTopic("b").setPartitionResult(List.of(
                    new ElectLeadersResponseData.PartitionResult().setPartitionId(7).setErrorCode((short) 83).setErrorMessage("nobody"))))));
        }
        request(ApiKeys.ALTER_PARTITION_REASSIGNMENTS, 0, new AlterPartitionReassignmentsRequestData().setTopics(List.of(
            new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName("a").setPartitions(List.of(
                new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(1).setReplicas(null),
                new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(0).setReplicas(List.of(3, 1)))))));
        response(ApiKeys.ALTER_PARTITION_REASSIGNMENTS, 0, new AlterPartitionReassignmentsResponseData().setErrorMessage(null).setResponses(List.of(
            new AlterPartitionReassignmentsResponseData.ReassignableTopicResponse().setName("a").setPartitions(List.of(
                new AlterPartitionReassignmentsResponseData.ReassignablePartitionResponse().setPartitionIndex(0).setErrorMessage(null),
                new AlterPartitionReassignmentsResponseData.ReassignablePartitionResponse().setPartitionIndex(1).setErrorCode((short) 85).setErrorMessage("NO_REASSIGNMENT_IN_PROGRESS"))))));
        request(ApiKeys.LIST_PARTITION_REASSIGNMENTS, 0, new ListPartitionReassignmentsRequestData().setTopics(List.of(
            new ListPartitionReassignmentsRequestData.ListPartitionReassignmentsTopics().setName("a").setPartitionIndexes(List.of(1, 0)))));
        response(ApiKeys.LIST_PARTITION_REASSIGNMENTS, 0, new ListPartitionReassignmentsResponseData().setErrorMessage(null).setTopics(List.of(
            new ListPartitionReassignmentsResponseData.OngoingTopicReassignment().setName("a").setPartitions(List.of(
                new ListPartitionReassignmentsResponseData.OngoingPartitionReassignment().setPartitionIndex(0).setReplicas(List.of(3, 1, 2)).setAddingReplicas(List.of(3)).setRemovingReplicas(List.of(2)))))));
        for (int v = 0; v <= 1; v++) {
            UpdateFeaturesRequestData d = new UpdateFeaturesRequestData();
            UpdateFeaturesRequestData.FeatureUpdateKey up = new UpdateFeaturesRequestData.FeatureUpdateKey().setFeature("f").setMaxVersionLevel((short) 2);
            UpdateFeaturesRequestData.FeatureUpdateKey down = new UpdateFeaturesRequestData.FeatureUpdateKey().setFeature("g").setMaxVersionLevel((short) 0);
            if (v == 0) down.setAllowDowngrade(true); else down.setUpgradeType((byte) 3);
            d.featureUpdates().add(up);
            d.featureUpdates().add(down);
            request(ApiKeys.UPDATE_FEATURES, v, d);
            UpdateFeaturesResponseData a = new UpdateFeaturesResponseData().setErrorMessage(null);
            a.results().add(new UpdateFeaturesResponseData.UpdatableFeatureResult().setFeature("f").setErrorMessage(null));
            a.results().add(new UpdateFeaturesResponseData.UpdatableFeatureResult().setFeature("g").setErrorCode((short) 42).setErrorMessage("not finalized"));
            response(ApiKeys.UPDATE_FEATURES, v, a);
        }
    }

    static void topics() {
        for (int v = 0; v <= 7; v++) {
            CreateTopicsRequestData d = new CreateTopicsRequestData().setTimeoutMs(1500);
            if (v >= 1) d.setValidateOnly(true);
            CreateTopicsRequestData.CreatableTopic a = new CreateTopicsRequestData.CreatableTopic().setName("a").setNumPartitions(2).setReplicationFactor((short) 3);
            a.configs().add(new CreateTopicsRequestData.CreatableTopicConfig().setName("retention.ms").setValue("5"));
            CreateTopicsRequestData.CreatableTopic b = new CreateTopicsRequestData.CreatableTopic().setName("b").setNumPartitions(-1).setReplicationFactor((short) -1);
            b.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment().setPartitionIndex(0).setBrokerIds(List.of(2, 1)));
            b.configs().add(new CreateTopicsRequestData.CreatableTopicConfig().setName("segment.ms").setValue(null));
            d.topics().add(a);
            d.topics().add(b);
            request(ApiKeys.CREATE_TOPICS, v, d);
            CreateTopicsResponseData r = new CreateTopicsResponseData();
            if (v >= 2) r.setThrottleTimeMs(9);
            CreateTopicsResponseData.CreatableTopicResult ok = new CreateTopicsResponseData.CreatableTopicResult().setName("a");
            if (v >= 1) ok.setErrorMessage(null);
            if (v >= 5) ok.setNumPartitions(2).setReplicationFactor((short) 3);
            if (v >= 7) ok.setTopicId(A);
            CreateTopicsResponseData.CreatableTopicResult bad = new CreateTopicsResponseData.CreatableTopicResult().setName("b").setErrorCode((short) 36);
            if (v >= 1) bad.setErrorMessage("it exists");
            r.topics().add(ok);
            r.topics().add(bad);
            response(ApiKeys.CREATE_TOPICS, v, r);
        }
        for (int v = 0; v <= 6; v++) {
            DeleteTopicsRequestData d = new DeleteTopicsRequestData().setTimeoutMs(1500);
            if (v < 6) d.setTopicNames(List.of("a", "b"));
            else d.setTopics(List.of(new DeleteTopicsRequestData.DeleteTopicState().setName("a"), new DeleteTopicsRequestData.DeleteTopicState().setName(null).setTopicId(B)));
            request(ApiKeys.DELETE_TOPICS, v, d);
            DeleteTopicsResponseData r = new DeleteTopicsResponseData();
            if (v >= 1) r.setThrottleTimeMs(9);
            DeleteTopicsResponseData.DeletableTopicResult ok = new DeleteTopicsResponseData.DeletableTopicResult().setName("a");
            DeleteTopicsResponseData.DeletableTopicResult bad = new DeleteTopicsResponseData.DeletableTopicResult().setName(v < 6 ? "b" : null).setErrorCode((short) (v < 6 ? 3 : 100));
            if (v >= 5) bad.setErrorMessage("there is none");
            if (v >= 6) bad.setTopicId(B);
            r.responses().add(ok);
            r.responses().add(bad);
            response(ApiKeys.DELETE_TOPICS, v, r);
        }
        for (int v = 0; v <= 3; v++) {
            CreatePartitionsRequestData d = new CreatePartitionsRequestData().setTimeoutMs(1500).setValidateOnly(true);
            d.topics().add(new CreatePartitionsRequestData.CreatePartitionsTopic().setName("a").setCount(4).setAssignments(null));
            d.topics().add(new CreatePartitionsRequestData.CreatePartitionsTopic().setName("b").setCount(2).setAssignments(List.of(
                new CreatePartitionsRequestData.CreatePartitionsAssignment().setBrokerIds(List.of(2, 1)))));
            request(ApiKeys.CREATE_PARTITIONS, v, d);
            response(ApiKeys.CREATE_PARTITIONS, v, new CreatePartitionsResponseData().setThrottleTimeMs(9).setResults(List.of(
                new CreatePartitionsResponseData.CreatePartitionsTopicResult().setName("a").setErrorMessage(null),
                new CreatePartitionsResponseData.CreatePartitionsTopicResult().setName("b").setErrorCode((short) 37).setErrorMessage("too few"))));
        }
    }

    static void described() {
        for (int v = 0; v <= 1; v++) {
            DescribeClusterRequestData d = new DescribeClusterRequestData();
            request(ApiKeys.DESCRIBE_CLUSTER, v, d);
            DescribeClusterResponseData a = new DescribeClusterResponseData().setClusterId("cluster-1").setControllerId(2);
            a.brokers().add(new DescribeClusterResponseData.DescribeClusterBroker().setBrokerId(1).setHost("one").setPort(9092).setRack("r1"));
            a.brokers().add(new DescribeClusterResponseData.DescribeClusterBroker().setBrokerId(2).setHost("two").setPort(9092));
            response(ApiKeys.DESCRIBE_CLUSTER, v, a);
        }
        for (int v = 0; v <= 12; v++) {
            MetadataRequestData d = new MetadataRequestData();
            d.setTopics(new ArrayList<>(List.of(new MetadataRequestData.MetadataRequestTopic().setName("a"), new MetadataRequestData.MetadataRequestTopic().setName("zz"))));
            request(ApiKeys.METADATA, v, d);
            MetadataResponseData a = new MetadataResponseData().setClusterId("cluster-1").setControllerId(2);
            a.brokers().add(new MetadataResponseData.MetadataResponseBroker().setNodeId(1).setHost("one").setPort(9092).setRack("r1"));
            a.brokers().add(new MetadataResponseData.MetadataResponseBroker().setNodeId(2).setHost("two").setPort(9092));
            MetadataResponseData.MetadataResponsePartition zero = new MetadataResponseData.MetadataResponsePartition().setPartitionIndex(0).setLeaderId(1).setReplicaNodes(List.of(1, 2, 3)).setIsrNodes(List.of(1, 2)).setOfflineReplicas(List.of(3));
            if (v == 0) zero.setErrorCode((short) 9).setReplicaNodes(List.of(1, 2));
            if (v >= 7) zero.setLeaderEpoch(3);
            MetadataResponseData.MetadataResponsePartition one = new MetadataResponseData.MetadataResponsePartition().setPartitionIndex(1).setLeaderId(-1).setErrorCode((short) 5).setReplicaNodes(List.of(3)).setIsrNodes(List.of(3)).setOfflineReplicas(List.of(3));
            if (v == 0) one.setReplicaNodes(List.of()).setIsrNodes(List.of());
            if (v >= 7) one.setLeaderEpoch(4);
            a.topics().add(new MetadataResponseData.MetadataResponseTopic().setName("a").setTopicId(A).setPartitions(List.of(zero, one)));
            a.topics().add(new MetadataResponseData.MetadataResponseTopic().setName("zz").setErrorCode((short) 3));
            response(ApiKeys.METADATA, v, a);
        }
        for (int v = 0; v <= 4; v++)
            request(ApiKeys.API_VERSIONS, v, new ApiVersionsRequestData().setClientSoftwareName(v < 3 ? "" : "apache-kafka-java").setClientSoftwareVersion(v < 3 ? "" : "3.9.2"));
    }

    public static void main(String[] args) {
        control();
        asked();
        topics();
        described();
        StringBuilder s = new StringBuilder("{");
        for (Map.Entry<String, String> e : out.entrySet())
            s.append(s.length() == 1 ? "\n" : ",\n").append("\"").append(e.getKey()).append("\": \"").append(e.getValue()).append("\"");
        System.out.println(s.append("\n}"));
    }
}
